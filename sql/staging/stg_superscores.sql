-- grain: one row per suite x benchmark x grader x criterion x model: the last report's
select
    suite,
    benchmark,
    judge,
    criterion,
    model,
    n,
    n_clusters,
    long,
    long_low,
    long_high,
    short,
    short_low,
    short_high,
    either,
    either_low,
    either_high,
    n_undefined,
    resamples,
    seed,
    reported_at
from raw_superscores
qualify rank() over (partition by suite order by reported_at desc) = 1
