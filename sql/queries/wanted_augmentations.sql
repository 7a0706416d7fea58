-- grain: one row per item without a rubric of its own, for which a collector is to write one ($criteria names it)
select
    contexts.*,
    '' as answer,
    left(sha256('[' || to_json(contexts.prompt) || ',' || to_json(list_sort(contexts.references)) || ']'), 16) as content_digest,
    null::varchar as other_answer,
    '' as other_digest,
    '' as shown_first,
    array_slice(contexts.references, 1, 0) as feedbacks,
    $criteria[1] as criteria,
    $criteria[1][1] as criterion,
    0::bigint as sample
from wanted_contexts as contexts
anti join stg_item_rubrics as own on contexts.benchmark = own.benchmark and contexts.item_id = own.item_id
