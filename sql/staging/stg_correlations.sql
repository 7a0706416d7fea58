-- grain: one row per suite x benchmark x model x judge x criteria x rules x coefficient: the last report's
select
    suite,
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
    n_cells,
    resamples,
    seed,
    reported_at
from raw_correlations
qualify rank() over (partition by suite order by reported_at desc) = 1
