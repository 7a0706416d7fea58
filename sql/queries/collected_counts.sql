-- grain: one row per outcome of a collector ($judge_id, $reading), with its number: kept, another status, or `near_duplicate` of a rubric
with outcomes as (
    select
        collected.benchmark,
        collected.context_digest,
        collected.criterion,
        case
            when collected.status <> 'ok' then collected.status
            when screened.is_kept is false then 'near_duplicate'
            else 'kept'
        end as outcome
    from core_collected as collected
    left join stg_screened_rubrics as screened
        on
            collected.table_name = 'collected_rubrics'
            and collected.judge_id = screened.judge_id
            and collected.reading = screened.reading
            and collected.benchmark = screened.benchmark
            and collected.context_digest = screened.context_digest
            and collected.criterion = screened.criterion
    where collected.judge_id = $judge_id and collected.reading = $reading
)

select
    outcome,
    count(*) as n
from outcomes
group by outcome
order by outcome
