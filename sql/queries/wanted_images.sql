-- grain: one row per distinct image of the items that a captioning judge is wanted for
with images as (
    select
        benchmark,
        item_id,
        unnest(images) as image,
        array_slice("references", 1, 0) as no_texts,
        array_slice(regions, 1, 0) as no_regions
    from wanted_contexts
),

digested as (
    select
        *,
        coalesce(left(images.image.sha256, 16), images.image.uri) as image_digest
    from images
)

select
    benchmark,
    min(item_id) as item_id,
    'caption' as task,
    '' as prompt,
    min(no_texts) as "references",
    null::varchar as caption,
    [min(image)] as images,
    min(no_regions) as regions,
    null::varchar as rubric_criterion,
    min(no_texts) as rubric_levels,
    null::varchar as rubric_label,
    image_digest as context_digest,
    '' as answer,
    '' as content_digest,
    null::varchar as other_answer,
    '' as other_digest,
    '' as shown_first,
    min(no_texts) as feedbacks,
    ['caption'] as criteria,
    'caption' as criterion,
    0::bigint as sample
from digested
group by benchmark, image_digest
