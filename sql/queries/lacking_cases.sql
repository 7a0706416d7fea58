-- grain: one row per combination of what items of pending cases lack (references, rubric, image, caption): its first case, with its number
-- of items, the first $shown of them, and the number of all items
with items as (
    select
        *,
        concat_ws(
            ' ',
            case when len("references") = 0 then 'references' end,
            case when rubric_criterion is null then 'rubric' end,
            case when caption is null then 'caption' end,
            case
                when len(images) = 0 then 'image'
                when len(list_filter(images, lambda image: image.sha256 is null)) > 0 then 'file'
            end
        ) as lack
    from pending
    qualify row_number() over (partition by benchmark, item_id order by content_digest, criterion, sample) = 1
),

counts as (
    select
        lack,
        list_slice(list(item_id order by benchmark, item_id), 1, $shown) as shown_items,
        count(*) as n_items,
        sum(count(*)) over ()::bigint as n_all
    from items
    group by lack
)

select
    items.* exclude (lack),
    counts.shown_items,
    counts.n_items,
    counts.n_all
from items
inner join counts on items.lack = counts.lack
qualify row_number() over (partition by items.lack order by items.benchmark, items.item_id) = 1
order by items.lack
