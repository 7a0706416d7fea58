-- grain: one row per benchmark x item, of current ingests
select
    items.benchmark,
    items.item_id,
    items.task,
    items.prompt,
    items.references,
    items.images,
    items.regions,
    items.category,
    items.split,
    items.cluster,
    items.source_file,
    items.locator
from raw_items as items
semi join stg_ingests as ingests on items.benchmark = ingests.benchmark and items.ingest_id = ingests.ingest_id
