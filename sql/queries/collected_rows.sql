-- grain: one row per response with feedback of a collector ($judge_id, $reading) to instructions of another ($built_on, $built_on_reading)
select
    image_uri,
    rubric_id,
    instruction_id,
    score,
    instruction,
    response,
    reference,
    description,
    levels,
    feedback
from core_collected_responses
where
    judge_id = $judge_id
    and reading = $reading
    and instructed_by = $built_on
    and instructed_reading = $built_on_reading
    and status = 'ok'
order by benchmark, image_uri, rubric_id, instruction_id, score
