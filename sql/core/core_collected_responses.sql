-- grain: one row per response that a collector was asked for x collector that wrote its instruction (`instructed_by`): both texts and the rubric
select
    responses.*,
    instructions.judge_id as instructed_by,
    instructions.reading as instructed_reading,
    instructions.instruction,
    instructions.reference,
    rubrics.description,
    rubrics.levels
from stg_collected_responses as responses
inner join stg_collected_instructions as instructions
    on
        responses.benchmark = instructions.benchmark
        and responses.context_digest = instructions.context_digest
        and responses.instruction_id = instructions.instruction_id
        and instructions.status = 'ok'
inner join core_rubric_texts as rubrics on responses.rubric_id = rubrics.rubric_id
