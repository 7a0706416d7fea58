-- grain: one row per item x sample that is to be answered; the content is the item's prompt
with samples as (
    select unnest(range($samples)) as sample
)

select
    contexts.*,
    '' as answer,
    left(sha256(contexts.prompt), 16) as content_digest,
    null::varchar as other_answer,
    '' as other_digest,
    '' as shown_first,
    array_slice(contexts.references, 1, 0) as feedbacks,
    $criteria[1] as criteria,
    $criteria[1][1] as criterion,
    samples.sample
from wanted_contexts as contexts
cross join samples
