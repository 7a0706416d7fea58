-- grain: one row per benchmark x rater x criterion ('*' all) x category ('*' all) x attribute: how often the larger model, or that of lower
-- training loss, is preferred
select
    benchmark,
    rater,
    criterion,
    category,
    attribute,
    prefers,
    n,
    n_left_out,
    n_ties,
    n_clusters,
    agreement,
    low,
    high,
    reason,
    n_models,
    distance_correlation,
    bias_corrected,
    p_value,
    n_undefined,
    resamples,
    seed,
    reported_at
from stg_attribute_agreement
qualify rank() over (partition by benchmark, rater order by reported_at desc) = 1
order by benchmark, rater, criterion, category, attribute
