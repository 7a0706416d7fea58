"""The report's plain tables: which view each shows, its columns, and what it says where there is nothing. Rendering is `report.html`.

A table of thousands of rows is cut on the page: the whole of it is in the view of the same name.
"""

from tasks.reports.bias_sections import BIAS_SECTIONS, FAILURE_SECTIONS
from tasks.reports.page_tables import Column, Section
from tasks.reports.rater_sections import RATER_SECTIONS

_BENCHMARK, _CRITERION, _N = Column("benchmark", "Benchmark"), Column("criterion", "Criterion"), Column("n", "n", "count")

SECTIONS: tuple[Section, ...] = (
    Section(
        "corpus",
        "Corpus scores",
        "rpt_corpus_scores",
        "Metrics whose score of a corpus is no mean of answers (BLEU’s, for one): computed from summed statistics, with the interval of "
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
    Section(
        "comparison",
        "Which judge is best",
        "rpt_judge_comparison",
        "Spearman correlation with people of each judge on its own rows, what its missing scores could make of it (least, most), and its "
        "difference from the judge of the highest value (from the runner-up, for that judge) on the rows both scored. Best is only who beats "
        "every other in a paired bootstrap over clusters after Holm’s correction. Other coefficients are in the view.",
        (
            _BENCHMARK,
            Column("human_criterion", "Target"),
            Column("human_rule", "Rule"),
            Column("coefficient", "Statistic"),
            Column("judge", "Judge"),
            Column("judge_criterion", "Criterion"),
            _N,
            Column("n_missing", "Missing", "count"),
            Column("value", "Value", "number", ("low", "high")),
            Column("least", "Least", "number"),
            Column("most", "Most", "number"),
            Column("other", "Compared with"),
            Column("n_common", "n of both", "count"),
            Column("difference", "Difference", "number", ("difference_low", "difference_high")),
            Column("p_holm", "p (Holm)", "number"),
            Column("mark", "Best"),
        ),
        where="coefficient = 'spearman'",
    ),
    Section(
        "ceiling",
        "Human ceiling",
        "rpt_correlation",
        "One annotator against the mean of the others, the mean over annotators (`human ceiling`), and the judges on the very same targets: a "
        "judge above the ceiling predicts people better than one of them does.",
        (
            _BENCHMARK,
            Column("human_criterion", "Target"),
            Column("judge", "Judge"),
            Column("judge_criterion", "Criterion"),
            _N,
            Column("value", "Spearman", "number", ("low", "high")),
        ),
        where="human_rule = 'mean_of_others' and coefficient = 'spearman'",
    ),
    Section(
        "systems",
        "Ranking models",
        "rpt_correlation",
        "Does a judge rank the models as people do? The models’ mean scores, models and clusters resampled; n counts models. Soft pairwise "
        "accuracy asks whether it parts two models as surely as people do.",
        (
            _BENCHMARK,
            Column("human_criterion", "Target"),
            Column("human_rule", "Rule"),
            Column("judge", "Judge"),
            Column("judge_criterion", "Criterion"),
            Column("coefficient", "Statistic"),
            _N,
            Column("value", "Value", "number", ("low", "high")),
        ),
        where="model = '(systems)' and coefficient in ('spearman', 'soft_pairwise_accuracy')",
    ),
    Section(
        "retest",
        "Self-consistency",
        "rpt_self_consistency",
        "Each pair of a judge’s samples of the same answers: how often both have the same score, and their Pearson correlation.",
        (
            _BENCHMARK,
            Column("judge", "Judge"),
            _CRITERION,
            Column("sample_a", "Sample"),
            Column("sample_b", "Other sample"),
            _N,
            Column("same_score", "Same score × 100", "percent"),
            Column("pearson", "Pearson", "number"),
        ),
    ),
    Section(
        "agreement",
        "Agreement",
        "rpt_agreement",
        "How often two raters gave the same label to what both labelled, and Cohen’s kappa. People are `human:…`.",
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
        "winrates",
        "Win rates",
        "rpt_win_rate",
        "Share of the win that the first model got from each rater; a tie is half, and so is a pair on which the judge’s two orders differ "
        "(inconsistent); a missing verdict is not counted.",
        (
            _BENCHMARK,
            Column("judge", "Rater"),
            _CRITERION,
            Column("model_a", "Model"),
            Column("model_b", "Against"),
            _N,
            Column("wins", "Wins", "count"),
            Column("ties", "Ties", "count"),
            Column("n_inconsistent", "Inconsistent", "count"),
            Column("losses", "Losses", "count"),
            Column("win_rate", "Win rate × 100", "percent"),
        ),
        nothing="Nobody compared two answers with each other.",
        where="model_a < model_b",
    ),
    *RATER_SECTIONS,
    Section(
        "looking",
        "Does the judge look?",
        "rpt_image_dependence",
        "The same judge shown the item’s image, none, or another image of the benchmark: share of verdicts that change, and the mean absolute "
        "change of the score. A judge whose verdicts do not change without the image does not rest on it.",
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
        "Whose feedback a judge of feedbacks prefers; half a win each where its two orders differ (inconsistent).",
        (
            _BENCHMARK,
            Column("judge", "Judge"),
            _CRITERION,
            Column("author_a", "Feedback of"),
            Column("author_b", "Against"),
            _N,
            Column("wins_a", "Wins", "count"),
            Column("ties", "Ties", "count"),
            Column("n_inconsistent", "Inconsistent", "count"),
            Column("wins_b", "Losses", "count"),
            Column("n_missing", "Missing", "count"),
            Column("win_rate_a", "Win rate × 100", "percent"),
        ),
    ),
    *FAILURE_SECTIONS,
    *BIAS_SECTIONS,
)
