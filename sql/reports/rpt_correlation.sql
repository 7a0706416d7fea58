-- grain: one row per benchmark x model ('*' all pooled) x judge x criteria x rules x coefficient, as the last report computed it
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
    n_undefined,
    resamples,
    seed,
    reported_at
from stg_correlations
qualify
    row_number() over (
        partition by benchmark, model, judge, judge_criterion, human_criterion, human_rule, sample_rule, against, coefficient
        order by reported_at desc
    ) = 1
order by benchmark, judge, model, coefficient
