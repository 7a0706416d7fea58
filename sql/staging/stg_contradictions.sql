-- grain: one row per suite x benchmark x rater x criterion: the last report's
select
    suite,
    benchmark,
    rater,
    criterion,
    n_questions,
    n_clusters,
    n_contradictory,
    share,
    low,
    high,
    coin_flip_share,
    n_simulated,
    n_undefined,
    resamples,
    seed,
    reported_at
from raw_contradictions
qualify rank() over (partition by suite order by reported_at desc) = 1
