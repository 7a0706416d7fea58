-- grain: one row per collector (in its order) x outcome x reason: how many generations were asked for, kept or not, and why not
with outcomes as (
    select
        collected.table_name,
        collected.judge_id,
        collected.benchmark,
        case
            when collected.status <> 'ok' then collected.status
            when screened.is_kept is false then 'near_duplicate'
            else 'kept'
        end as outcome,
        -- what differs from row to row (numbers of words) is no reason of its own
        regexp_replace(collected.reason, '[0-9,]+', '#', 'g') as reason
    from core_collected as collected
    left join stg_screened_rubrics as screened
        on
            collected.table_name = 'collected_rubrics'
            and collected.judge_id = screened.judge_id
            and collected.reading = screened.reading
            and collected.benchmark = screened.benchmark
            and collected.context_digest = screened.context_digest
            and collected.criterion = screened.criterion
)

select
    table_name,
    judge_id,
    benchmark,
    outcome,
    reason,
    count(*) as n,
    count(*) / sum(count(*)) over (partition by table_name, judge_id, benchmark) as share
from outcomes
group by table_name, judge_id, benchmark, outcome, reason
order by
    list_position(['collected_rubrics', 'collected_instructions', 'collected_responses', 'augmented_items'], table_name) asc,
    judge_id asc,
    benchmark asc,
    n desc,
    reason asc
