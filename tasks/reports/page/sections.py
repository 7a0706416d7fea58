"""The report's plain tables: which view each shows and its columns. One without rows is not on the
page. Rendering is `report.html`.

A table of thousands of rows is cut on the page: the whole of it is in the view of the same name.
"""

from judgelake.tasks.reports.page.agreement_sections import AGREEMENT_SECTIONS
from judgelake.tasks.reports.page.bias_sections import BIAS_SECTIONS, FAILURE_SECTIONS
from judgelake.tasks.reports.page.collection_sections import COLLECTION_SECTIONS
from judgelake.tasks.reports.page.parts import PageColumn, Section
from judgelake.tasks.reports.page.rater_sections import JUDGE_SECTION, RATER_SECTIONS
from judgelake.tasks.reports.page.training_section import TRAINING_SECTIONS

_BENCHMARK, _CRITERION, _N = (
    PageColumn("benchmark", "Benchmark"),
    PageColumn("criterion", "Criterion"),
    PageColumn("n", "n", "count"),
)

SECTIONS: tuple[Section, ...] = (
    JUDGE_SECTION,
    Section(
        "corpus",
        "Corpus scores",
        "rpt_corpus_scores",
        "Metrics whose score of a corpus is no mean of answers (BLEU’s, for one): computed "
        "from summed statistics, with the interval of "
        "resampled images or items. `*` is all models.",
        (
            _BENCHMARK,
            PageColumn("metric", "Metric"),
            PageColumn("model", "Model"),
            _N,
            PageColumn("n_missing", "Missing", "count"),
            PageColumn("value", "Score", "number", ("low", "high"), "reason"),
        ),
    ),
    *AGREEMENT_SECTIONS,
    Section(
        "agreement",
        "Agreement",
        "rpt_agreement",
        "How often two raters gave the same label to what both labelled, and Cohen’s kappa. "
        "People are `human:…`.",
        (
            _BENCHMARK,
            PageColumn("judge_a", "Rater"),
            PageColumn("judge_b", "Other rater"),
            _CRITERION,
            _N,
            PageColumn("agreement", "Agreement", "number"),
            PageColumn("kappa", "Kappa", "number"),
            PageColumn("reason", "Note"),
        ),
        where="task = '*' and category = '*' and style = '*'",
    ),
    Section(
        "confusion",
        "Confusion",
        "rpt_confusion",
        "Which label a judge gave where a person gave which, and what share that is of the "
        "first one’s label. Only raters of ten labels or "
        "fewer; all pairs of raters are in the view.",
        (
            _BENCHMARK,
            PageColumn("judge_a", "Rater"),
            PageColumn("judge_b", "Other rater"),
            _CRITERION,
            PageColumn("label_a", "Label"),
            PageColumn("label_b", "Other label"),
            _N,
            PageColumn("share", "Share × 100", "percent"),
        ),
        where="judge_a like 'human:%' <> (judge_b like 'human:%')",
    ),
    Section(
        "winrates",
        "Win rates",
        "rpt_win_rate",
        "Share of the win that the first model got from each rater; a tie is half, and so is a "
        "pair on which the judge’s two orders differ "
        "(inconsistent); a missing verdict is not counted. The interval is over clusters, "
        "images or items.",
        (
            _BENCHMARK,
            PageColumn("judge", "Rater"),
            _CRITERION,
            PageColumn("model_a", "Model"),
            PageColumn("model_b", "Against"),
            _N,
            PageColumn("win_rate", "Win rate × 100", "percent", ("low", "high"), "reason"),
            PageColumn("wins", "Wins", "count"),
            PageColumn("ties", "Ties", "count"),
            PageColumn("n_inconsistent", "Inconsistent", "count"),
            PageColumn("losses", "Losses", "count"),
        ),
        where="model_a < model_b",
    ),
    *RATER_SECTIONS,
    Section(
        "looking",
        "Does the judge look?",
        "rpt_image_dependence",
        "The same judge shown the item’s image, none, or another image of the benchmark: share "
        "of verdicts that change, and the mean absolute "
        "change of the score. A judge whose verdicts do not change without the image does not "
        "rest on it.",
        (
            _BENCHMARK,
            PageColumn("judge_a", "Judge"),
            PageColumn("judge_b", "Control"),
            PageColumn("image_b", "Its image"),
            _CRITERION,
            _N,
            PageColumn("changed", "Changed × 100", "percent"),
            PageColumn("mean_change", "Mean change", "number"),
            PageColumn("pearson", "Pearson", "number"),
        ),
    ),
    Section(
        "feedback",
        "Preferred feedback",
        "rpt_feedback_preference",
        "Whose feedback a judge of feedbacks prefers; half a win each where its two orders "
        "differ (inconsistent).",
        (
            _BENCHMARK,
            PageColumn("judge", "Judge"),
            _CRITERION,
            PageColumn("author_a", "Feedback of"),
            PageColumn("author_b", "Against"),
            _N,
            PageColumn("win_rate_a", "Win rate × 100", "percent"),
            PageColumn("wins_a", "Wins", "count"),
            PageColumn("ties", "Ties", "count"),
            PageColumn("n_inconsistent", "Inconsistent", "count"),
            PageColumn("wins_b", "Losses", "count"),
            PageColumn("n_missing", "Missing", "count"),
        ),
    ),
    *FAILURE_SECTIONS,
    *BIAS_SECTIONS,
    *COLLECTION_SECTIONS,
    *TRAINING_SECTIONS,
    Section(
        "costs",
        "What judges cost",
        "rpt_costs",
        "Over all runs: calls, tokens and US dollars (those of the price table or the suite at "
        "the time of the reply; empty where the price was "
        "not known), and dollars for 1,000 verdicts.",
        (
            PageColumn("judge", "Judge"),
            PageColumn("model", "Model"),
            PageColumn("n_verdicts", "Verdicts", "count"),
            PageColumn("n_calls", "Calls", "count"),
            PageColumn("prompt_tokens", "Prompt tokens", "count"),
            PageColumn("completion_tokens", "Completion tokens", "count"),
            PageColumn("cost_usd", "USD", "number"),
            PageColumn("cost_usd_per_1000", "USD / 1,000", "number"),
        ),
        benchmarks="benchmarks",
    ),
)
