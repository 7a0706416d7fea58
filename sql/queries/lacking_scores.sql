-- grain: one row per thing (references, image, file of the first image) that items of `chosen_rows` lack: their number, the first $shown of
-- them, and the number of all items
with items as (
    select distinct
        items.benchmark,
        items.item_id,
        items.references,
        items.images
    from wanted_scores as wanted
    semi join chosen_rows as chosen on wanted.row_id = chosen.row_id
    inner join stg_items as items on wanted.benchmark = items.benchmark and wanted.item_id = items.item_id
),

lacks as (
    select
        benchmark,
        item_id,
        'references' as lack
    from items
    where len("references") = 0
    union all by name
    select
        benchmark,
        item_id,
        case when len(images) = 0 then 'image' else 'file' end as lack
    from items
    where images[1].sha256 is null
)

select
    lack,
    list_slice(list({ 'benchmark': benchmark, 'item_id': item_id } order by benchmark, item_id), 1, $shown) as shown_items,
    count(*) as n_items,
    (select count(*) from items) as n_all
from lacks
group by lack
order by lack
