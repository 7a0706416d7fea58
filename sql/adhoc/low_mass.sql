-- question: How much of the probability did the levels hold where it was read?
-- grain: one row per benchmark x judge x criterion whose verdicts have a captured mass, those without a score for lack of it too
-- about: judge, share_below, median
-- option benchmark: only this benchmark
-- option below = 0.9: what is little
with weighed as (
    select
        benchmark,
        judge_id,
        reading,
        criterion,
        status,
        captured_mass
    from stg_verdicts
    where captured_mass is not null
    union all
    select
        benchmark,
        judge_id,
        reading,
        criterion,
        status,
        captured_mass
    from stg_duels
    where captured_mass is not null
)

select
    weighed.benchmark,
    any_value(judges.alias) as judge,
    weighed.criterion,
    count(*) as n,
    count(*) filter (where weighed.status <> 'ok') as n_without_score,
    count(*) filter (where weighed.captured_mass < $below::double) as n_below,
    count(*) filter (where weighed.captured_mass < $below::double) / count(*) as share_below,
    min(weighed.captured_mass) as lowest,
    quantile_cont(weighed.captured_mass, 0.05) as p05,
    median(weighed.captured_mass) as median
from weighed
inner join core_judges as judges on weighed.judge_id = judges.judge_id and weighed.reading = judges.reading
where $benchmark::varchar is null or weighed.benchmark = $benchmark
group by weighed.benchmark, judges.judge, weighed.criterion
order by share_below desc, weighed.benchmark asc, judges.judge asc, weighed.criterion asc
