-- grain: one row per image x rubric for which a collector is to make instructions ($criteria names them)
select
    images.benchmark,
    images.item_id,
    'instruction' as task,
    '' as prompt,
    images."references" as "references",
    null::varchar as caption,
    images.images,
    images.regions,
    rubrics.description as rubric_criterion,
    rubrics.levels as rubric_levels,
    null::varchar as rubric_label,
    images.context_digest,
    '' as answer,
    rubrics.rubric_id as content_digest,
    null::varchar as other_answer,
    '' as other_digest,
    '' as shown_first,
    images.feedbacks,
    $criteria[1] as criteria,
    $criteria[1][1] as criterion,
    0::bigint as sample
from kept_rubrics as rubrics
inner join wanted_images as images
    on rubrics.benchmark = images.benchmark and rubrics.context_digest = images.context_digest
