"""The page's tables about raters and the models they compare. What a table is: `page_tables`; the
others: `sections`.
"""

from judgelake.tasks.reports.page.parts import Column, Section

_BENCHMARK, _CRITERION, _N = (
    Column("benchmark", "Benchmark"),
    Column("criterion", "Criterion"),
    Column("n", "n", "count"),
)
_UNDEFINED = Column("n_undefined", "Undefined resamples", "count")

JUDGE_SECTION = Section(
    "judges",
    "Judges and metrics",
    "rpt_judges",
    "What each name stands for: the call signature is the judge, the reading signature how its "
    "replies are read. Recorded ones were judged "
    "elsewhere.",
    (
        _BENCHMARK,
        Column("alias", "Name"),
        Column("kind", "Kind"),
        Column("signature", "Signature", "code"),
        Column("reading_signature", "Reading", "code"),
        Column("judge_id", "Judge id", "code"),
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
        "out and counted.",
        (
            _BENCHMARK,
            Column("rater_a", "Rater"),
            Column("rater_b", "Other rater"),
            _CRITERION,
            Column("chance", "Chance"),
            _N,
            Column("n_inconsistent", "Inconsistent", "count"),
            Column("agreement", "Agreement", "number", ("agreement_low", "agreement_high")),
            Column("kappa", "Kappa", "number", ("kappa_low", "kappa_high")),
            Column("strength", "Landis and Koch", "key"),
            _UNDEFINED,
        ),
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
            Column("raters", "Raters"),
            Column("statistic", "Statistic"),
            Column("n_raters", "Raters, number", "count"),
            _N,
            Column("n_left_out", "Left out", "count"),
            Column("value", "Value", "number", ("low", "high")),
            Column("strength", "Landis and Koch"),
            _UNDEFINED,
        ),
    ),
    Section(
        "rankings",
        "Ratings of models",
        "rpt_rankings",
        "Elo (mean over orders; spread over orders and resamples) and Bradley-Terry ratings "
        "with the places that resamples of the images or "
        "items leave open; a tie or an inconsistent pair is half a win. Without a rating: the "
        "view says why. `human` is all annotators.",
        (
            _BENCHMARK,
            Column("rater", "Rater"),
            _CRITERION,
            Column("category", "Category"),
            Column("method", "Method"),
            Column("rank", "Place", "key"),
            Column("model", "Model"),
            _N,
            Column("rating", "Rating", "number", ("low", "high")),
            Column("rank_low", "Best place", "count"),
            Column("rank_high", "Worst place", "count"),
            _UNDEFINED,
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
            Column("rater_a", "Rater"),
            Column("rater_b", "Other rater"),
            _CRITERION,
            Column("category", "Category"),
            Column("method", "Method"),
            Column("n_common", "Models of both", "count"),
            Column("overlap", "Overlap", "number"),
        ),
    ),
    Section(
        "contradictions",
        "Contradictions",
        "rpt_contradictions",
        "Share of questions on which a rater’s preferences run in a circle (A over B, B over "
        "C, C over A), and what coin-flips would give on "
        "the same comparisons; ties and inconsistent pairs are no preference.",
        (
            _BENCHMARK,
            Column("rater", "Rater"),
            _CRITERION,
            Column("n_questions", "Questions", "count"),
            Column("n_contradictory", "Contradictory", "count"),
            Column("share", "Share × 100", "percent", ("low", "high")),
            Column("coin_flip_share", "Coin-flips × 100", "percent"),
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
            Column("metric", "Judge or metric"),
            Column("judge_criterion", "Its criterion"),
            Column("human_criterion", "People’s criterion"),
            Column("n_choices", "Choices", "count"),
            _N,
            Column("n_ties", "Ties", "count"),
            Column("n_missing", "Missing", "count"),
            Column("accuracy", "Accuracy × 100", "percent", ("low", "high")),
            _UNDEFINED,
        ),
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
            Column("judge", "Grader"),
            _CRITERION,
            Column("model", "Model"),
            _N,
            Column("long", "Long × 100", "percent", ("long_low", "long_high")),
            Column("short", "Short × 100", "percent", ("short_low", "short_high")),
            Column("either", "Either × 100", "percent", ("either_low", "either_high")),
            _UNDEFINED,
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
            Column("label", "Label"),
            Column("labeller", "Labeller"),
            Column("n_items", "Items", "count"),
            Column("n", "Looked at", "count"),
            Column("n_holds", "Holds of", "count"),
            Column("share", "Share × 100", "percent", ("wilson_low", "wilson_high")),
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
            Column("judge", "Grader"),
            Column("judge_criterion", "Criterion"),
            Column("human_criterion", "People’s criterion"),
            _N,
            Column("accuracy", "Accuracy × 100", "percent", ("accuracy_low", "accuracy_high")),
            Column(
                "false_positive_rate",
                "Wrong, passed × 100",
                "percent",
                ("false_positive_low", "false_positive_high"),
            ),
            Column(
                "false_negative_rate",
                "Right, failed × 100",
                "percent",
                ("false_negative_low", "false_negative_high"),
            ),
            _UNDEFINED,
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
            Column("rater", "Rater"),
            _CRITERION,
            Column("attribute", "Attribute"),
            Column("prefers", "Prefers"),
            _N,
            Column("agreement", "Agreement × 100", "percent", ("low", "high")),
            Column("distance_correlation", "Distance correlation", "number"),
            Column("bias_corrected", "Bias-corrected", "number"),
            Column("p_value", "p", "number"),
            _UNDEFINED,
        ),
    ),
    Section(
        "scaled",
        "Published scores",
        "rpt_scaled_average",
        "Mean over published benchmarks of the score between the models’ least (0) and most "
        "(100); none for a model that lacks one.",
        (
            _BENCHMARK,
            Column("model", "Model"),
            Column("n_scores", "Scores", "count"),
            Column("n_benchmarks", "Benchmarks", "count"),
            Column("scaled_average", "Scaled average × 100", "percent"),
        ),
    ),
)
