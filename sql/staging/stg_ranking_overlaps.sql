-- grain: one row per suite x benchmark x criterion x category x rating method x two raters: the last report's
select
    suite,
    benchmark,
    criterion,
    category,
    method,
    rater_a,
    rater_b,
    n_models_a,
    n_models_b,
    n_common,
    persistence,
    overlap,
    reported_at
from raw_ranking_overlaps
qualify rank() over (partition by suite order by reported_at desc) = 1
