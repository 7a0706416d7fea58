-- grain: one row per benchmark x model ('*' all pooled) x judge x criteria x rules x coefficient, as the last report computed it. Rows of
-- benchmark '*' are all benchmarks of one suite together, so one per suite too: leave them out (benchmark <> '*') where benchmarks are counted
select
    benchmark,
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
            benchmark, model, judge, judge_criterion, human_criterion, human_rule, sample_rule, against, coefficient,
            case when benchmark = '*' then suite end
        order by reported_at desc
    ) = 1
order by benchmark, judge, model, coefficient, suite
