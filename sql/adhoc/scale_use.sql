-- question: How does each judge use its scale?
-- grain: one row per benchmark x judge x criterion x score (rounded) that it gave
-- about: judge, score, share
-- option benchmark: only this benchmark
-- option judge: only this judge, by alias
-- option digits = 2: decimals to which scores are rounded
select
    benchmark,
    any_value(alias) as judge,
    criterion,
    round(score_0_1, $digits::integer) as score,
    min(rating) as lowest_rating,
    max(rating) as highest_rating,
    count(*) as n,
    count(*) / sum(count(*)) over (partition by benchmark, core_scores.judge, criterion) as share
from core_scores
where
    status = 'ok'
    and ($benchmark::varchar is null or benchmark = $benchmark)
    and ($judge::varchar is null or alias = $judge)
group by benchmark, core_scores.judge, criterion, round(score_0_1, $digits::integer)
order by benchmark asc, judge asc, criterion asc, score asc
