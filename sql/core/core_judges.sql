-- grain: one row per judge_id x reading that is current in some suite; `judge` is its name in reports
with judges as (
    select * from stg_judges
),

merged as (
    select
        judge_id,
        reading,
        any_value(kind) as kind,
        arg_max(alias, registered_at) as alias,
        any_value(call_signature) as call_signature,
        any_value(reading_signature) as reading_signature,
        any_value(tasks) as tasks,
        list_distinct(flatten(list(benchmarks))) as benchmarks,
        max(registered_at) as registered_at
    from judges
    group by judge_id, reading
)

select
    judge_id,
    reading,
    kind,
    alias,
    case
        when kind = 'metric' then 'metric:' || call_signature
        when count(*) over (partition by kind, alias) > 1 then alias || '@' || judge_id || '/' || reading
        else alias
    end as judge,
    call_signature as signature,
    reading_signature,
    tasks,
    benchmarks,
    registered_at
from merged
