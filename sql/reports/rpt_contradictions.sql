-- grain: one row per benchmark x rater x criterion ('*' all, a question under each of them counted by itself) x pairs: questions whose
-- preferences run in a circle. `pairs` are all or, for judges who saw more, those that people were surveyed on
select
    benchmark,
    rater,
    criterion,
    pairs,
    n_questions,
    n_clusters,
    n_contradictory,
    share,
    low,
    high,
    reason,
    coin_flip_share,
    n_simulated,
    n_undefined,
    resamples,
    seed,
    reported_at
from stg_contradictions
qualify rank() over (partition by benchmark, rater order by reported_at desc) = 1
order by benchmark, rater, criterion, pairs
