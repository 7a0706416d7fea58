-- grain: one row per benchmark x rater x criterion x category ('*' all) x method x model: rating and place;
-- `bradley_terry` is the ranking to read, `elo` is there as CHIRP reports it and `warning` says where the two orders differ
select
    benchmark,
    rater,
    criterion,
    category,
    method,
    model,
    n,
    n_missing,
    n_clusters,
    group_number,
    rating,
    low,
    high,
    mean,
    median,
    percentiles,
    rank,
    rank_low,
    rank_high,
    above_next,
    reason,
    orders_differ,
    warning,
    initial,
    k,
    scale,
    n_undefined,
    resamples,
    seed,
    reported_at
from stg_rankings
qualify rank() over (partition by benchmark, rater order by reported_at desc) = 1
order by benchmark, rater, criterion, category, method, group_number, rank, model
