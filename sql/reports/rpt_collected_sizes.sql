-- grain: one row per benchmark x component of a collection: how many there are, and for each image (Prometheus-Vision, Table 2)
with images as (
    select
        benchmark,
        count(distinct context_digest) as n_images
    from stg_collected_rubrics
    group by benchmark
),

kept as (
    select
        rubrics.benchmark,
        'score rubrics' as component,
        count(*) as n
    from stg_collected_rubrics as rubrics
    inner join stg_screened_rubrics as screened
        on
            rubrics.judge_id = screened.judge_id
            and rubrics.reading = screened.reading
            and rubrics.benchmark = screened.benchmark
            and rubrics.context_digest = screened.context_digest
            and rubrics.criterion = screened.criterion
    where rubrics.status = 'ok' and screened.is_kept
    group by rubrics.benchmark
),

components as (
    select
        benchmark,
        'images' as component,
        n_images as n
    from images
    union all
    select
        benchmark,
        component,
        n
    from kept
    union all
    select
        benchmark,
        'instructions with reference answers' as component,
        count(*) as n
    from stg_collected_instructions
    where status = 'ok'
    group by benchmark
    union all
    select
        benchmark,
        'responses with feedback and score' as component,
        count(*) as n
    from stg_collected_responses
    where status = 'ok'
    group by benchmark
)

select
    components.benchmark,
    components.component,
    components.n,
    components.n / images.n_images as n_per_image
from components
inner join images on components.benchmark = images.benchmark
order by components.benchmark, components.n, components.component
