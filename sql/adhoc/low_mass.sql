-- question: How much of the probability did the levels hold where it was read?
-- grain: one row per benchmark x judge x criterion whose verdicts have a captured mass, those without a score for lack of it too
-- option benchmark: only this benchmark
-- option below = 0.9: what is little
with told as (
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
    told.benchmark,
    judges.judge,
    told.criterion,
    count(*) as n,
    count(*) filter (where told.status <> 'ok') as n_without_score,
    count(*) filter (where told.captured_mass < $below::double) as n_below,
    count(*) filter (where told.captured_mass < $below::double) / count(*) as share_below,
    min(told.captured_mass) as lowest,
    quantile_cont(told.captured_mass, 0.05) as p05,
    median(told.captured_mass) as median
from told
inner join core_judges as judges on told.judge_id = judges.judge_id and told.reading = judges.reading
where $benchmark::varchar is null or told.benchmark = $benchmark
group by told.benchmark, judges.judge, told.criterion
order by share_below desc, told.benchmark asc, judges.judge asc, told.criterion asc
