-- grain: one row per case that a judge is wanted for; $limit: the first items by key per benchmark; $captioner: whose caption is shown
with items as (
    select *
    from stg_items
    where list_contains($benchmarks, benchmark) and list_contains($tasks, task)
    qualify $item_limit is null or row_number() over (partition by benchmark order by item_id) <= $item_limit
),

captions as (
    select
        benchmark,
        image_uri,
        min(text) as caption
    from stg_captions
    where captioner = $captioner
    group by benchmark, image_uri
),

contents as (
    select
        benchmark,
        item_id,
        content_digest,
        min(text) as answer
    from stg_answers
    group by benchmark, item_id, content_digest
)

select
    items.benchmark,
    items.item_id,
    items.task,
    items.prompt,
    items.references,
    contents.answer,
    contents.content_digest,
    captions.caption,
    coalesce(sha256(captions.caption), '') as context_digest,
    ($criterion)::varchar as criterion,
    0::bigint as sample
from items
inner join contents on items.benchmark = contents.benchmark and items.item_id = contents.item_id
left join captions on items.benchmark = captions.benchmark and items.images[1].uri = captions.image_uri
