"""The page's tables of how far judges agree with people, or with the judge they are held to. The
others: `sections`.
"""

from judgelake.tasks.reports.page.parts import Column, Section

_BENCHMARK, _CRITERION, _N = (
    Column("benchmark", "Benchmark"),
    Column("criterion", "Criterion"),
    Column("n", "n", "count"),
)
_MODELS, _TARGET, _RULE = (
    Column("model", "Models"),
    Column("human_criterion", "Target"),
    Column("human_rule", "Rule"),
)
_STATISTIC, _JUDGE, _OWN = (
    Column("coefficient", "Statistic"),
    Column("judge", "Judge"),
    Column("judge_criterion", "Criterion"),
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
            Column("suite", "Suite"),
            _TARGET,
            _RULE,
            Column("against", "Against"),
            _JUDGE,
            _OWN,
            _N,
            Column("pooled", "Pooled", "number", ("pooled_low", "pooled_high")),
            Column("mark", "Best"),
            Column("n_cells", "Cells", "count"),
            Column("mean_of_cells", "Mean of cells", "number", ("mean_low", "mean_high")),
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
        where="coefficient = 'spearman' and model in ('*', '(mean of models)', '(systems)')",
    ),
    Section(
        "tests",
        "Tests on request",
        "rpt_difference_tests",
        "The leader of each column against every other judge, by the tests that the suite asks "
        "for, each with assumptions of its own: Williams’ "
        "takes rows for independent and normal, PERM-BOTH standardised scores for "
        "exchangeable, and LAVE’s t-test replicates for "
        "observations (its p falls with the number of resamples). Holm’s correction is over "
        "the other judges.",
        (
            _BENCHMARK,
            _MODELS,
            _TARGET,
            _RULE,
            Column("test", "Test"),
            _JUDGE,
            Column("other", "Other judge"),
            Column("other_criterion", "Its criterion"),
            Column("n_common", "n of both", "count"),
            Column("difference", "Difference", "number"),
            Column("statistic", "t", "number"),
            Column("p", "p", "number"),
            Column("p_holm", "p (Holm)", "number"),
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
            Column("value", "Tau-b", "number", ("low", "high")),
            Column("mark", "Agrees"),
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
            Column("value", "Spearman", "number", ("low", "high")),
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
            Column("value", "Value", "number", ("low", "high")),
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
            Column("sample_a", "Sample"),
            Column("sample_b", "Other sample"),
            _N,
            Column("same_score", "Same score × 100", "percent"),
            Column("pearson", "Pearson", "number"),
        ),
    ),
)
