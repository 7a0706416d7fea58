-- grain: one row per suite x benchmark x rater x criterion x category ('*' all) x method x model: the last report's
select
    suite,
    benchmark,
    rater,
    criterion,
    category,
    method,
    model,
    n,
    n_missing,
    n_clusters,
    rating,
    low,
    high,
    rank,
    rank_low,
    rank_high,
    above_next,
    reason,
    initial,
    k,
    scale,
    n_undefined,
    resamples,
    seed,
    reported_at
from raw_rankings
qualify rank() over (partition by suite order by reported_at desc) = 1
