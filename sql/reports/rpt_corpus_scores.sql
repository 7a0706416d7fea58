-- grain: one row per benchmark x model ('*' all pooled) x metric: the corpus score (BLEU's is no mean of sentences)
select
    benchmark,
    model,
    metric,
    n,
    n_missing,
    n_clusters,
    value,
    low,
    high,
    reason,
    n_undefined,
    resamples,
    seed,
    judge,
    reported_at
from stg_corpus_scores
qualify row_number() over (partition by benchmark, model, judge order by reported_at desc) = 1
order by benchmark, metric, model
