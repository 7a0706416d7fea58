-- grain: one row per score x benchmark (`pv`: all of them) x evaluator x quartile: how long GPT-4V's responses of that score are, in words
-- (Prometheus-Vision, Figures 10 and 11). A response has the score of each of the evaluator's first three inferences
with scored as (
    select
        scores.benchmark,
        scores.alias,
        scores.rating::int as score,
        array_length(regexp_extract_all(answers.text, '\S+')) as n_words
    from core_scores as scores
    inner join core_answers as answers
        on
            scores.benchmark = answers.benchmark
            and scores.item_id = answers.item_id
            and scores.answer_id = answers.answer_id
    where
        scores.benchmark like 'pv\_%' escape '\'
        and answers.model = 'gpt-4v'
        and scores.alias in ('gpt-4v', 'prometheus-vision-13b')
        and scores.sample < 3
        and scores.status = 'ok'
),

quartiles as (
    select
        score,
        coalesce(benchmark, 'pv') as benchmark,
        alias,
        quantile_cont(n_words, 0.25) as low,
        quantile_cont(n_words, 0.5) as median,
        quantile_cont(n_words, 0.75) as high,
        count(*) as n
    from scored
    group by grouping sets ((score, alias), (score, alias, benchmark))
)

select
    score::varchar as row_key,
    benchmark || '/' || alias || '/' || quartile as column_key,
    n_words as value,
    n,
    null as reason
from quartiles
unpivot (n_words for quartile in (low, median, high))
