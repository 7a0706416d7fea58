-- grain: one row per batch: its latest state, with the requests it was planned with
with ranked as (
    select
        *,
        case state when 'planned' then 0 when 'submitted' then 1 else 2 end as stage
    from raw_batches
),

latest as (
    select *
    from ranked
    qualify row_number() over (partition by judge_id, batch_key order by stage desc, noted_at desc) = 1
),

planned as (
    select
        judge_id,
        batch_key,
        requests
    from raw_batches
    where state = 'planned'
)

select
    latest.judge_id,
    latest.batch_key,
    latest.state,
    latest.endpoint,
    latest.requested_model,
    latest.base_url,
    latest.n_requests,
    latest.n_bytes,
    planned.requests,
    latest.refusals,
    latest.adaptation,
    latest.file_id,
    latest.batch_id,
    latest.reason,
    latest.planned_at,
    latest.noted_at,
    latest.run_id
from latest
inner join planned on latest.judge_id = planned.judge_id and latest.batch_key = planned.batch_key
