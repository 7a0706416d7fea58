-- grain: one row per suite x benchmark x rater x criterion x attribute of models: the last report's
select
    suite,
    benchmark,
    rater,
    criterion,
    attribute,
    prefers,
    n,
    n_left_out,
    n_ties,
    n_clusters,
    agreement,
    low,
    high,
    n_models,
    distance_correlation,
    bias_corrected,
    p_value,
    n_undefined,
    resamples,
    seed,
    reported_at
from raw_attribute_agreement
qualify rank() over (partition by suite order by reported_at desc) = 1
