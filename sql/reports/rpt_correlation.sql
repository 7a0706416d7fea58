-- grain: one row per benchmark x task x category x style x model x judge x criteria x rules x coefficient; '*' is all together. A task,
-- category or style has rows where a benchmark has several, models pooled: (task, category, style) = ('*', '*', '*') leaves them out. Rows of
-- benchmark '*' are all benchmarks of one suite together, so one per suite too: leave them out (benchmark <> '*') where benchmarks are counted
select
    benchmark,
    task,
    category,
    style,
    model,
    judge,
    judge_criterion,
    human_criterion,
    human_rule,
    sample_rule,
    against,
    coefficient,
    n,
    n_clusters,
    value,
    low,
    high,
    reason,
    n_undefined,
    n_cells,
    resamples,
    seed,
    reported_at,
    suite
from stg_correlations
qualify
    row_number() over (
        partition by
            benchmark, task, category, style, model, judge, judge_criterion, human_criterion, human_rule, sample_rule, against,
            coefficient, case when benchmark = '*' then suite end
        order by reported_at desc
    ) = 1
order by benchmark, judge, task, category, style, model, coefficient, suite
