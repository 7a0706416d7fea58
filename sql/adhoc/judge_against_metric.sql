-- question: Where do a judge and a reference metric part most?
-- grain: one row per answer x judge x criterion x metric, both scores from 0 to 1, the largest difference first
-- about: judge, score, metric, metric_score, text
-- option benchmark: only this benchmark
-- option judge: only this judge, by alias
-- option metric: only this metric, by alias
-- option n = 20: how many rows
with scores as (
    select
        benchmark,
        item_id,
        answer_id,
        criterion,
        judge,
        alias,
        round_mean(avg(score_0_1)) as score
    from core_scores
    where status = 'ok' and ($benchmark::varchar is null or benchmark = $benchmark)
    group by benchmark, item_id, answer_id, criterion, judge, alias
),

compared as (
    select
        judged.benchmark,
        judged.item_id,
        judged.answer_id,
        judged.alias as judge,
        judged.criterion,
        metrics.alias as metric,
        judged.score,
        metrics.score as metric_score
    from scores as judged
    inner join scores as metrics
        on judged.benchmark = metrics.benchmark and judged.item_id = metrics.item_id and judged.answer_id = metrics.answer_id
    where
        judged.judge not like 'metric:%'
        and metrics.judge like 'metric:%'
        and metrics.score between 0 and 1
        and ($judge::varchar is null or judged.alias = $judge)
        and ($metric::varchar is null or metrics.alias = $metric)
    order by abs(judged.score - metrics.score) desc, judged.benchmark asc, judged.item_id asc, judged.answer_id asc, judge asc, metric asc
    limit $n::bigint
)

select
    compared.benchmark,
    compared.item_id,
    compared.answer_id,
    compared.judge,
    compared.criterion,
    compared.metric,
    compared.score,
    compared.metric_score,
    answers.prompt,
    answers.references,
    answers.text
from compared
inner join core_answers as answers
    on compared.benchmark = answers.benchmark and compared.item_id = answers.item_id and compared.answer_id = answers.answer_id
order by abs(compared.score - compared.metric_score) desc, compared.benchmark asc, compared.item_id asc, compared.answer_id asc
