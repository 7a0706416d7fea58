-- grain: one row per benchmark x criterion x category x rating method x two raters: rank-biased overlap of their orders of models, the first
-- places counting most
select
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
from stg_ranking_overlaps
qualify rank() over (partition by benchmark, rater_a, rater_b order by reported_at desc) = 1
order by benchmark, criterion, category, method, rater_a, rater_b
