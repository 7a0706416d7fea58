-- grain: one row per instruction of a collector ($built_on, $built_on_reading) to which responses are to be made ($criteria names them)
select
    images.benchmark,
    images.item_id,
    'instruction' as task,
    instructions.instruction as prompt,
    [instructions.reference] as "references",
    null::varchar as caption,
    images.images,
    images.regions,
    rubrics.description as rubric_criterion,
    rubrics.levels as rubric_levels,
    null::varchar as rubric_label,
    images.context_digest,
    '' as answer,
    instructions.instruction_id as content_digest,
    null::varchar as other_answer,
    '' as other_digest,
    '' as shown_first,
    images.feedbacks,
    $criteria[1] as criteria,
    $criteria[1][1] as criterion,
    0::bigint as sample
from stg_collected_instructions as instructions
inner join wanted_images as images
    on instructions.benchmark = images.benchmark and instructions.context_digest = images.context_digest
inner join core_rubric_texts as rubrics on instructions.rubric_id = rubrics.rubric_id
where instructions.judge_id = $built_on and instructions.reading = $built_on_reading and instructions.status = 'ok'
