-- grain: one row per item x label x labeller, of current ingests
select
    rows_in.benchmark,
    rows_in.item_id,
    rows_in.label,
    rows_in.labeller,
    rows_in.holds,
    rows_in.source_file,
    rows_in.locator
from raw_item_labels as rows_in
semi join stg_ingests as ingests on rows_in.benchmark = ingests.benchmark and rows_in.ingest_id = ingests.ingest_id
