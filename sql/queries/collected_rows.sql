-- grain: one row per response with feedback of a collector ($judge_id, $reading) to instructions of another ($built_on, $built_on_reading)
select
    responses.image_uri,
    responses.rubric_id,
    responses.instruction_id,
    responses.score,
    instructions.instruction,
    responses.response,
    instructions.reference,
    rubrics.description,
    rubrics.levels,
    responses.feedback
from stg_collected_responses as responses
inner join stg_collected_instructions as instructions
    on
        responses.benchmark = instructions.benchmark
        and responses.context_digest = instructions.context_digest
        and responses.instruction_id = instructions.instruction_id
        and instructions.judge_id = $built_on
        and instructions.reading = $built_on_reading
        and instructions.status = 'ok'
inner join core_rubric_texts as rubrics on responses.rubric_id = rubrics.rubric_id
where responses.judge_id = $judge_id and responses.reading = $reading and responses.status = 'ok'
order by responses.benchmark, responses.image_uri, responses.rubric_id, responses.instruction_id, responses.score
