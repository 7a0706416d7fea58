-- grain: one row per suite x benchmark x metric x model ('*' all pooled): the last report's
select
    suite,
    benchmark,
    judge,
    metric,
    model,
    n,
    n_missing,
    n_clusters,
    value,
    low,
    high,
    n_undefined,
    resamples,
    seed,
    reported_at
from raw_corpus_scores
qualify rank() over (partition by suite order by reported_at desc) = 1
