-- grain: one row per item x answer content of the benchmarks, numbered by benchmark, item and content; image_digest: what the item shows
with items as (
    select * from stg_items
    where list_contains($benchmarks, benchmark)
),

contents as (
    select distinct
        benchmark,
        item_id,
        content_digest
    from stg_answers
)

select
    items.benchmark,
    items.item_id,
    items.task,
    contents.content_digest,
    coalesce(left(items.images[1].sha256, 16), 'none') as image_digest,
    row_number() over (order by items.benchmark, items.item_id, contents.content_digest) - 1 as row_id
from items
inner join contents on items.benchmark = contents.benchmark and items.item_id = contents.item_id
