-- grain: one row per combination of what items of pending cases lack (references, rubric, image, caption), and with $by_criterion per
-- criterion that is asked: its first case, with its number of items, the first $shown of them, and the number of all items
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
        ) as lack,
        case when $by_criterion then criterion else '' end as asked
    from pending
    qualify row_number() over (partition by benchmark, item_id, asked order by content_digest, criterion, sample) = 1
),

counts as (
    select
        lack,
        asked,
        list_slice(list({ 'benchmark': benchmark, 'item_id': item_id } order by benchmark, item_id), 1, $shown) as shown_items,
        count(*) as n_items
    from items
    group by lack, asked
),

every_item as (
    select distinct
        benchmark,
        item_id
    from items
),

totals as (
    select count(*) as n_all from every_item
)

select
    items.* exclude (asked),
    counts.shown_items,
    counts.n_items,
    totals.n_all
from items
inner join counts on items.lack = counts.lack and items.asked = counts.asked
cross join totals
qualify row_number() over (partition by items.lack, items.asked order by items.benchmark, items.item_id) = 1
order by items.lack, items.asked
