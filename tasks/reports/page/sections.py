"""The report's plain tables: which view each shows, its columns, and what it says where there is
nothing. Rendering is `report.html`.

A table of thousands of rows is cut on the page: the whole of it is in the view of the same name.
"""

from judgelake.tasks.reports.page.agreement_sections import AGREEMENT_SECTIONS
from judgelake.tasks.reports.page.bias_sections import BIAS_SECTIONS, FAILURE_SECTIONS
from judgelake.tasks.reports.page.parts import Column, Section
from judgelake.tasks.reports.page.rater_sections import JUDGE_SECTION, RATER_SECTIONS

_BENCHMARK, _CRITERION, _N = (
    Column("benchmark", "Benchmark"),
    Column("criterion", "Criterion"),
    Column("n", "n", "count"),
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
            Column("metric", "Metric"),
            Column("model", "Model"),
            _N,
            Column("n_missing", "Missing", "count"),
            Column("value", "Score", "number", ("low", "high")),
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
            Column("judge_a", "Rater"),
            Column("judge_b", "Other rater"),
            _CRITERION,
            _N,
            Column("agreement", "Agreement", "number"),
            Column("kappa", "Kappa", "number"),
        ),
        nothing="No two raters labelled the same answers or pairs.",
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
            Column("judge_a", "Rater"),
            Column("judge_b", "Other rater"),
            _CRITERION,
            Column("label_a", "Label"),
            Column("label_b", "Other label"),
            _N,
            Column("share", "Share × 100", "percent"),
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
            Column("judge", "Rater"),
            _CRITERION,
            Column("model_a", "Model"),
            Column("model_b", "Against"),
            _N,
            Column("win_rate", "Win rate × 100", "percent", ("low", "high")),
            Column("wins", "Wins", "count"),
            Column("ties", "Ties", "count"),
            Column("n_inconsistent", "Inconsistent", "count"),
            Column("losses", "Losses", "count"),
        ),
        nothing="Nobody compared two answers with each other.",
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
            Column("judge_a", "Judge"),
            Column("judge_b", "Control"),
            Column("image_b", "Its image"),
            _CRITERION,
            _N,
            Column("changed", "Changed × 100", "percent"),
            Column("mean_change", "Mean change", "number"),
            Column("pearson", "Pearson", "number"),
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
            Column("judge", "Judge"),
            _CRITERION,
            Column("author_a", "Feedback of"),
            Column("author_b", "Against"),
            _N,
            Column("win_rate_a", "Win rate × 100", "percent"),
            Column("wins_a", "Wins", "count"),
            Column("ties", "Ties", "count"),
            Column("n_inconsistent", "Inconsistent", "count"),
            Column("wins_b", "Losses", "count"),
            Column("n_missing", "Missing", "count"),
        ),
    ),
    *FAILURE_SECTIONS,
    *BIAS_SECTIONS,
    Section(
        "costs",
        "What judges cost",
        "rpt_costs",
        "Over all runs: calls, tokens and US dollars (those of the price table or the suite at "
        "the time of the reply; empty where the price was "
        "not known), and dollars for 1,000 verdicts.",
        (
            Column("judge", "Judge"),
            Column("model", "Model"),
            Column("n_verdicts", "Verdicts", "count"),
            Column("n_calls", "Calls", "count"),
            Column("prompt_tokens", "Prompt tokens", "count"),
            Column("completion_tokens", "Completion tokens", "count"),
            Column("cost_usd", "USD", "number"),
            Column("cost_usd_per_1000", "USD / 1,000", "number"),
        ),
        benchmarks="benchmarks",
    ),
)
