-- grain: one row per rubric of a collector ($judge_id, $reading) that differs enough from those before it
with screened as (
    select
        judge_id,
        reading,
        benchmark,
        context_digest,
        criterion,
        is_kept
    from stg_screened_rubrics
    union all
    select
        judge_id,
        reading,
        benchmark,
        context_digest,
        criterion,
        is_kept
    from newly_screened
)

select rubrics.*
from stg_collected_rubrics as rubrics
semi join screened
    on
        rubrics.judge_id = screened.judge_id
        and rubrics.reading = screened.reading
        and rubrics.benchmark = screened.benchmark
        and rubrics.context_digest = screened.context_digest
        and rubrics.criterion = screened.criterion
        and screened.is_kept
where rubrics.judge_id = $judge_id and rubrics.reading = $reading and rubrics.status = 'ok'
