-- grain: one row per benchmark x rater x criterion x category ('*' all) x method (elo, bradley_terry) x model: rating and place, from the
-- benchmark's last report
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
from stg_rankings
qualify rank() over (partition by benchmark, rater order by reported_at desc) = 1
order by benchmark, rater, criterion, category, method, rank, model
