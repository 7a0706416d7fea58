-- grain: one row per score x quartile: how long the responses of that score are in the training data, in words (Prometheus-Vision, Figure 5)
with scored as (
    select
        verdicts.rating::int as score,
        array_length(regexp_extract_all(answers.text, '\S+')) as n_words
    from recorded_verdicts as verdicts
    inner join core_answers as answers
        on
            verdicts.benchmark = answers.benchmark
            and verdicts.item_id = answers.item_id
            and verdicts.answer_id = answers.answer_id
    where verdicts.benchmark = 'perception_collection' and verdicts.status = 'ok'
),

quartiles as (
    select
        score,
        quantile_cont(n_words, 0.25) as low,
        quantile_cont(n_words, 0.5) as median,
        quantile_cont(n_words, 0.75) as high,
        count(*) as n
    from scored
    group by score
)

select
    score::varchar as row_key,
    quartile as column_key,
    n_words as value,
    n,
    null as reason
from quartiles
unpivot (n_words for quartile in (low, median, high))
