-- grain: one row per case of a judge of answers: item context x answer content x group of criteria x sample; $styles: [] for all
with contents as (
    select
        benchmark,
        item_id,
        content_digest,
        min(text) as answer
    from stg_answers
    where len($styles) = 0 or list_contains($styles, style)
    group by benchmark, item_id, content_digest
),

criteria_groups as (
    select unnest($criteria) as criteria
),

samples as (
    select unnest(range($samples)) as sample
)

select
    contexts.*,
    contents.answer,
    contents.content_digest,
    null::varchar as other_answer,
    '' as other_digest,
    '' as shown_first,
    array_slice(contexts.references, 1, 0) as feedbacks,
    case when $rubrics then [contexts.rubric_label] else criteria_groups.criteria end as criteria,
    case when $rubrics then contexts.rubric_label else criteria_groups.criteria[1] end as criterion,
    samples.sample
from wanted_contexts as contexts
inner join contents on contexts.benchmark = contents.benchmark and contexts.item_id = contents.item_id
cross join criteria_groups
cross join samples
