"""The page's tables of how far judges agree with people, or with the judge they are held to. The
others: `sections`.
"""

from judgelake.tasks.reports.page.parts import PageColumn, Section

_BENCHMARK, _CRITERION, _N = (
    PageColumn("benchmark", "Benchmark"),
    PageColumn("criterion", "Criterion"),
    PageColumn("n", "n", "count"),
)
_MODELS, _TARGET, _RULE = (
    PageColumn("model", "Models"),
    PageColumn("human_criterion", "Target"),
    PageColumn("human_rule", "Rule"),
)
_STATISTIC, _JUDGE, _OWN = (
    PageColumn("coefficient", "Statistic"),
    PageColumn("judge", "Judge"),
    PageColumn("judge_criterion", "Criterion"),
)

AGREEMENT_SECTIONS: tuple[Section, ...] = (
    Section(
        "overall",
        "All benchmarks together",
        "rpt_overall",
        "Spearman correlation over the rows of all benchmarks pooled (LAVE’s “Overall”), "
        "beside the mean over benchmark × model cells; clusters "
        "are resampled within benchmarks. Best is only who beats every other pooled judge "
        "after Holm’s correction.",
        (
            PageColumn("suite", "Suite"),
            _TARGET,
            _RULE,
            PageColumn("against", "Against"),
            _JUDGE,
            _OWN,
            _N,
            PageColumn(
                "pooled", "Pooled", "number", ("pooled_low", "pooled_high"), "pooled_reason"
            ),
            PageColumn("mark", "Best"),
            PageColumn("n_cells", "Cells", "count"),
            PageColumn(
                "mean_of_cells", "Mean of cells", "number", ("mean_low", "mean_high"), "mean_reason"
            ),
        ),
        where="coefficient = 'spearman' and len(benchmarks) > 1",
        benchmarks="benchmarks",
    ),
    Section(
        "comparison",
        "Which judge is best",
        "rpt_judge_comparison",
        "Spearman correlation with people of each judge on its own rows, what its missing "
        "scores could make of it (least, most), and its "
        "difference from the judge of the highest value (from the runner-up, for that judge) "
        "on the rows both scored. `*` pools all models, "
        "`(mean of models)` compares inside them, `(systems)` how the models are ranked. Best "
        "is only who beats every other in a paired "
        "bootstrap over clusters after Holm’s correction. Each model and the other "
        "coefficients are in the view.",
        (
            _BENCHMARK,
            _MODELS,
            _TARGET,
            _RULE,
            _JUDGE,
            _OWN,
            _N,
            PageColumn("n_missing", "Missing", "count"),
            PageColumn("value", "Value", "number", ("low", "high"), "reason"),
            PageColumn("least", "Least", "number"),
            PageColumn("most", "Most", "number"),
            PageColumn("other", "Compared with"),
            PageColumn("n_common", "n of both", "count"),
            PageColumn(
                "difference",
                "Difference",
                "number",
                ("difference_low", "difference_high"),
                "difference_reason",
            ),
            PageColumn("p_holm", "p (Holm)", "number"),
            PageColumn("mark", "Best"),
        ),
        where="coefficient = 'spearman' and model in ('*', '(mean of models)', '(systems)')",
    ),
    Section(
        "tests",
        "Tests on request",
        "rpt_difference_tests",
        "The leader of each column against every other judge, by the tests that the suite asks "
        "for, each with assumptions of its own: Williams’ takes rows for independent and normal "
        "(none where rows share an image or item), permutations of clusters or models take "
        "standardised scores for exchangeable, and LAVE’s t-test replicates for observations "
        "(its p falls with the number of resamples). Holm’s correction is for all pairs of "
        "judges.",
        (
            _BENCHMARK,
            _MODELS,
            _TARGET,
            _RULE,
            PageColumn("test", "Test"),
            _JUDGE,
            PageColumn("other", "Other judge"),
            PageColumn("other_criterion", "Its criterion"),
            PageColumn("n_common", "n of both", "count"),
            PageColumn("difference", "Difference", "number"),
            PageColumn("statistic", "t", "number"),
            PageColumn("p", "p", "number"),
            PageColumn("p_holm", "p (Holm)", "number"),
            PageColumn("reason", "Note"),
        ),
        where="coefficient = 'spearman' and model in ('*', '(systems)')",
    ),
    Section(
        "criteria",
        "Criterion by criterion",
        "rpt_criteria",
        "Kendall’s tau-b of a judge’s criterion with each of people’s, all models pooled; "
        "which of them it agrees with most, and least.",
        (
            _BENCHMARK,
            _JUDGE,
            _OWN,
            _TARGET,
            _N,
            PageColumn("value", "Tau-b", "number", ("low", "high"), "reason"),
            PageColumn("mark", "Agrees"),
        ),
        where="coefficient = 'kendall_tau_b'",
    ),
    Section(
        "ceiling",
        "Human ceiling",
        "rpt_correlation",
        "One annotator against the mean of the others, the mean over annotators (`human "
        "ceiling`), and the judges on the very same targets: a "
        "judge above the ceiling predicts people better than one of them does.",
        (
            _BENCHMARK,
            _TARGET,
            _JUDGE,
            _OWN,
            _N,
            PageColumn("value", "Spearman", "number", ("low", "high"), "reason"),
        ),
        where="human_rule = 'mean_of_others' and coefficient = 'spearman'",
    ),
    Section(
        "systems",
        "Ranking models",
        "rpt_correlation",
        "Does a judge rank the models as people do? The models’ mean scores, models and "
        "clusters resampled; n counts models. Soft pairwise "
        "accuracy asks whether it parts two models as surely as people do.",
        (
            _BENCHMARK,
            _TARGET,
            _RULE,
            _JUDGE,
            _OWN,
            _STATISTIC,
            _N,
            PageColumn("value", "Value", "number", ("low", "high"), "reason"),
        ),
        where="model = '(systems)' and coefficient in ('spearman', 'soft_pairwise_accuracy')",
    ),
    Section(
        "retest",
        "Self-consistency",
        "rpt_self_consistency",
        "Each pair of a judge’s samples of the same answers: how often both have the same "
        "score, and their Pearson correlation.",
        (
            _BENCHMARK,
            _JUDGE,
            _CRITERION,
            PageColumn("sample_a", "Sample"),
            PageColumn("sample_b", "Other sample"),
            _N,
            PageColumn("same_score", "Same score × 100", "percent"),
            PageColumn("pearson", "Pearson", "number"),
        ),
    ),
)
