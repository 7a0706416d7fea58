-- grain: one row per suite x benchmark x group of raters x criterion x statistic: the last report's
select
    suite,
    benchmark,
    raters,
    criterion,
    statistic,
    n_raters,
    per_unit,
    n,
    n_left_out,
    n_clusters,
    value,
    low,
    high,
    strength,
    n_undefined,
    resamples,
    seed,
    reported_at
from raw_reliabilities
qualify rank() over (partition by suite order by reported_at desc) = 1
