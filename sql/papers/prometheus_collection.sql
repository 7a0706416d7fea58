-- grain: one row per component of the training data x how it is counted: in all, and per image (Prometheus-Vision, Table 2)
with images_of as (
    select distinct unnest(images).uri as uri
    from items
    where benchmark = 'perception_collection'
),

counted as (
    select
        (select count(*) from images_of)::double as images,
        (select count(*) from rubrics where benchmark = 'perception_collection')::double as rubrics,
        (select count(*) from items where benchmark = 'perception_collection')::double as instructions,
        (
            select count(*)
            from items
            where benchmark = 'perception_collection' and len(items.references) > 0
        )::double as reference_answers,
        (select count(*) from answers where benchmark = 'perception_collection')::double as responses,
        (
            select count(*)
            from recorded_verdicts
            where benchmark = 'perception_collection' and status = 'ok'
        )::double as feedbacks
),

components as (
    select
        component,
        how_many,
        max(case when component = 'images' then how_many end) over () as n_images
    from counted
    unpivot (how_many for component in (images, rubrics, instructions, reference_answers, responses, feedbacks))
)

select
    component as row_key,
    'number' as column_key,
    how_many as value,
    1 as n,
    null as reason
from components
where n_images > 0
union all
select
    component as row_key,
    'per_image' as column_key,
    how_many / n_images as value,
    1 as n,
    null as reason
from components
where n_images > 0
