"""The page's tables about raters and the models they compare. What a table is: `page_tables`; the
others: `sections`.
"""

from judgelake.tasks.reports.page.parts import PageColumn, Section

_BENCHMARK, _CRITERION, _N = (
    PageColumn("benchmark", "Benchmark"),
    PageColumn("criterion", "Criterion"),
    PageColumn("n", "n", "count"),
)
_UNCUT = "task = '*' and category = '*' and style = '*'"
_UNDEFINED = PageColumn("n_undefined", "Undefined resamples", "count")

JUDGE_SECTION = Section(
    "judges",
    "Judges and metrics",
    "rpt_judges",
    "What each name stands for: the call signature is the judge, the reading signature how its "
    "replies are read. Recorded ones were judged "
    "elsewhere.",
    (
        _BENCHMARK,
        PageColumn("alias", "Name"),
        PageColumn("kind", "Kind"),
        PageColumn("signature", "Signature", "code"),
        PageColumn("reading_signature", "Reading", "code"),
        PageColumn("judge_id", "Judge id", "code"),
    ),
)

RATER_SECTIONS: tuple[Section, ...] = (
    Section(
        "kappas",
        "Agreement beyond chance",
        "rpt_kappas",
        "Agreement and kappa of two raters with intervals, chance computed anew in each "
        "resample: of all labels together (`nominal`), by "
        "matchup of models, or weighted by the labels’ distance. Inconsistent pairs are left "
        "out and counted. Raters on unlike scales (1 to 3, 1 to 5) have no labels in common: "
        "their correlation stands in place of kappa (`none`). Criterion `*` is all together; each "
        "task, category and style is in the view.",
        (
            _BENCHMARK,
            PageColumn("rater_a", "Rater"),
            PageColumn("rater_b", "Other rater"),
            _CRITERION,
            PageColumn("chance", "Chance"),
            _N,
            PageColumn("n_inconsistent", "Inconsistent", "count"),
            PageColumn(
                "agreement",
                "Agreement",
                "number",
                ("agreement_low", "agreement_high"),
                "agreement_reason",
            ),
            PageColumn("kappa", "Kappa", "number", ("kappa_low", "kappa_high"), "kappa_reason"),
            PageColumn("strength", "Landis and Koch", "key"),
            PageColumn(
                "kendall_tau_b", "Tau-b", "number", ("kendall_tau_b_low", "kendall_tau_b_high")
            ),
            PageColumn("reason", "Note"),
            _UNDEFINED,
        ),
        where=_UNCUT,
    ),
    Section(
        "reliability",
        "Agreement among all raters",
        "rpt_reliability",
        "Fleiss’ kappa and Krippendorff’s alpha of people, of people with one judge more, and "
        "of the judges among themselves: a judge that "
        "lowers people’s figure is less like them than they are like each other. n counts "
        "answers or pairs with several labels.",
        (
            _BENCHMARK,
            _CRITERION,
            PageColumn("raters", "Raters"),
            PageColumn("statistic", "Statistic"),
            PageColumn("n_raters", "Raters, number", "count"),
            _N,
            PageColumn("n_left_out", "Left out", "count"),
            PageColumn("value", "Value", "number", ("low", "high"), "reason"),
            PageColumn("strength", "Landis and Koch"),
            PageColumn("note", "Note"),
            _UNDEFINED,
        ),
        where=_UNCUT,
    ),
    Section(
        "rankings",
        "Ratings of models",
        "rpt_rankings",
        "Bradley-Terry ratings with intervals and the places that they leave open: the ranking to "
        "read. Elo beside it is what CHIRP reports (mean over orders; spread over orders and "
        "resamples, no confidence interval); the warning says where its order is another, and "
        "where it depends on how often a model was compared. A tie or an inconsistent pair is "
        "half a win. `human` is all annotators.",
        (
            _BENCHMARK,
            PageColumn("rater", "Rater"),
            _CRITERION,
            PageColumn("category", "Category"),
            PageColumn("method", "Method"),
            PageColumn("rank", "Place", "key"),
            PageColumn("model", "Model"),
            _N,
            PageColumn("rating", "Rating", "number", ("low", "high")),
            PageColumn("rank_low", "Best place", "count"),
            PageColumn("rank_high", "Worst place", "count"),
            PageColumn("warning", "Warning"),
            PageColumn("reason", "Note"),
        ),
    ),
    Section(
        "overlaps",
        "Overlap of rankings",
        "rpt_ranking_overlap",
        "Rank-biased overlap of two raters’ orders of the models, the first places counting "
        "most: 1 is the same order.",
        (
            _BENCHMARK,
            PageColumn("rater_a", "Rater"),
            PageColumn("rater_b", "Other rater"),
            _CRITERION,
            PageColumn("category", "Category"),
            PageColumn("method", "Method"),
            PageColumn("n_common", "Models of both", "count"),
            PageColumn("overlap", "Overlap", "number"),
        ),
    ),
    Section(
        "contradictions",
        "Contradictions",
        "rpt_contradictions",
        "Share of questions on which a rater’s preferences run in a circle (A over B, B over "
        "C, C over A), and what coin-flips would give on "
        "the same comparisons; ties and inconsistent pairs are no preference. Of a judge that saw "
        "more, `surveyed` are the pairs that people compared too.",
        (
            _BENCHMARK,
            PageColumn("rater", "Rater"),
            _CRITERION,
            PageColumn("pairs", "Pairs"),
            PageColumn("n_questions", "Questions", "count"),
            PageColumn("n_contradictory", "Contradictory", "count"),
            PageColumn("share", "Share × 100", "percent", ("low", "high"), "reason"),
            PageColumn("coin_flip_share", "Coin-flips × 100", "percent"),
            _UNDEFINED,
        ),
    ),
    Section(
        "choices",
        "Best of several",
        "rpt_choice_accuracy",
        "How often a judge or metric scores the answer that people chose as the best higher "
        "than one that lost to it; a tie of its scores is "
        "half. n counts pairs winner-loser.",
        (
            _BENCHMARK,
            PageColumn("metric", "Judge or metric"),
            PageColumn("judge_criterion", "Its criterion"),
            PageColumn("human_criterion", "People’s criterion"),
            PageColumn("n_choices", "Choices", "count"),
            _N,
            PageColumn("n_ties", "Ties", "count"),
            PageColumn("n_missing", "Missing", "count"),
            PageColumn("accuracy", "Accuracy × 100", "percent", ("low", "high"), "reason"),
        ),
        where="(task, category) = ('*', '*')",
    ),
    Section(
        "superscores",
        "Long and short answers",
        "rpt_superscore",
        "Share of items answered right in the long form, in the short form, and in either of "
        "them (the superscore), of those answered in both. "
        "`*` is all models.",
        (
            _BENCHMARK,
            PageColumn("judge", "Grader"),
            _CRITERION,
            PageColumn("model", "Model"),
            _N,
            PageColumn("long", "Long × 100", "percent", ("long_low", "long_high"), "long_reason"),
            PageColumn(
                "short", "Short × 100", "percent", ("short_low", "short_high"), "short_reason"
            ),
            PageColumn(
                "either", "Either × 100", "percent", ("either_low", "either_high"), "either_reason"
            ),
        ),
    ),
    Section(
        "itemlabels",
        "Labels of items",
        "rpt_item_labels",
        "Share of the items that somebody looked at of which a label holds, such as a ground "
        "truth that is wrong; Wilson’s interval (the "
        "normal one is in the view).",
        (
            _BENCHMARK,
            PageColumn("label", "Label"),
            PageColumn("labeller", "Labeller"),
            PageColumn("n_items", "Items", "count"),
            PageColumn("n", "Looked at", "count"),
            PageColumn("n_holds", "Holds of", "count"),
            PageColumn("share", "Share × 100", "percent", ("wilson_low", "wilson_high")),
        ),
    ),
    Section(
        "graders",
        "Graders of right and wrong",
        "rpt_grader_accuracy",
        "How often a grader’s 0 or 1 is people’s; of what people marked wrong the share it "
        "passed, of what they marked right what it failed.",
        (
            _BENCHMARK,
            PageColumn("judge", "Grader"),
            PageColumn("judge_criterion", "Criterion"),
            PageColumn("human_criterion", "People’s criterion"),
            PageColumn("model", "Model"),
            PageColumn("style", "Style"),
            _N,
            PageColumn(
                "accuracy",
                "Accuracy × 100",
                "percent",
                ("accuracy_low", "accuracy_high"),
                "accuracy_reason",
            ),
            PageColumn(
                "false_positive_rate",
                "Wrong, passed × 100",
                "percent",
                ("false_positive_low", "false_positive_high"),
                "false_positive_reason",
            ),
            PageColumn(
                "false_negative_rate",
                "Right, failed × 100",
                "percent",
                ("false_negative_low", "false_negative_high"),
                "false_negative_reason",
            ),
        ),
    ),
    Section(
        "attributes",
        "Size and training loss",
        "rpt_attribute_agreement",
        "Share of the win that a rater gives the model with more (or less) of what is known of "
        "both, a tie being half; and the distance "
        "correlation of Elo ratings with it, plain, bias-corrected and its p under permutation.",
        (
            _BENCHMARK,
            PageColumn("rater", "Rater"),
            _CRITERION,
            PageColumn("attribute", "Attribute"),
            PageColumn("prefers", "Prefers"),
            _N,
            PageColumn("agreement", "Agreement × 100", "percent", ("low", "high"), "reason"),
            PageColumn("distance_correlation", "Distance correlation", "number"),
            PageColumn("bias_corrected", "Bias-corrected", "number"),
            PageColumn("p_value", "p", "number"),
            _UNDEFINED,
        ),
        where="category = '*'",
    ),
    Section(
        "scaled",
        "Published scores",
        "rpt_scaled_average",
        "Mean over published benchmarks of the score between the models’ least (0) and most "
        "(100); none for a model that lacks one.",
        (
            _BENCHMARK,
            PageColumn("model", "Model"),
            PageColumn("n_scores", "Scores", "count"),
            PageColumn("n_benchmarks", "Benchmarks", "count"),
            PageColumn("scaled_average", "Scaled average × 100", "percent"),
        ),
    ),
)
