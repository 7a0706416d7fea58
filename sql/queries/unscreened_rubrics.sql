-- grain: one row per rubric that a collector ($judge_id, $reading) could make, in the order in which they are compared; `is_kept` is null where
-- it was never compared
select
    rubrics.judge_id,
    rubrics.reading,
    rubrics.benchmark,
    rubrics.context_digest,
    rubrics.criterion,
    rubrics.rubric_id,
    rubrics.description,
    screened.is_kept
from stg_collected_rubrics as rubrics
left join stg_screened_rubrics as screened
    on
        rubrics.judge_id = screened.judge_id
        and rubrics.reading = screened.reading
        and rubrics.benchmark = screened.benchmark
        and rubrics.context_digest = screened.context_digest
        and rubrics.criterion = screened.criterion
where rubrics.judge_id = $judge_id and rubrics.reading = $reading and rubrics.status = 'ok'
order by rubrics.benchmark, rubrics.context_digest, rubrics.criterion
