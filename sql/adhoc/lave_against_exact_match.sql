-- question: What does a judge say of answers that match a reference, and of those that do not?
-- grain: one row per benchmark x judge x criterion x score, with how many of those answers the metric scores 0, 1 or between
-- about: judge, score, n_metric_0, n_metric_1
-- option benchmark: only this benchmark
-- option judge: only this judge, by alias
-- option metric = exact_match: the metric, by alias
-- option digits = 1: decimals to which the judge's scores are rounded
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
)

select
    judged.benchmark,
    judged.judge,
    judged.criterion,
    round(judged.score, $digits::integer) as score,
    count(*) filter (where metrics.score <= 0) as n_metric_0,
    count(*) filter (where metrics.score > 0 and metrics.score < 1) as n_metric_between,
    count(*) filter (where metrics.score >= 1) as n_metric_1,
    count(*) as n
from scores as judged
inner join scores as metrics
    on judged.benchmark = metrics.benchmark and judged.item_id = metrics.item_id and judged.answer_id = metrics.answer_id
where
    judged.judge not like 'metric:%'
    and metrics.judge like 'metric:%'
    and metrics.alias = $metric
    and ($judge::varchar is null or judged.alias = $judge)
group by judged.benchmark, judged.judge, judged.criterion, round(judged.score, $digits::integer)
order by judged.benchmark asc, judged.judge asc, judged.criterion asc, score asc
