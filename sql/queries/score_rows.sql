-- grain: one row per row_id of `chosen_rows`, with what metrics read of it
with answers as (
    select
        benchmark,
        item_id,
        content_digest,
        any_value(text) as answer
    from stg_answers
    group by benchmark, item_id, content_digest
)

select
    wanted.benchmark,
    wanted.item_id,
    wanted.content_digest,
    wanted.image_digest,
    answers.answer,
    items.references,
    items.images[1] as image
from wanted_scores as wanted
semi join chosen_rows as chosen on wanted.row_id = chosen.row_id
inner join stg_items as items on wanted.benchmark = items.benchmark and wanted.item_id = items.item_id
inner join answers
    on
        wanted.benchmark = answers.benchmark
        and wanted.item_id = answers.item_id
        and wanted.content_digest = answers.content_digest
order by wanted.row_id
