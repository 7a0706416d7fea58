-- grain: one row per annotator x choice set x criterion, of current ingests
select
    rows_in.benchmark,
    rows_in.item_id,
    rows_in.choice_set,
    rows_in.criterion,
    rows_in.annotator,
    rows_in.answers,
    rows_in.chosen,
    rows_in.source_file,
    rows_in.locator
from raw_choice_sets as rows_in
semi join stg_ingests as ingests on rows_in.benchmark = ingests.benchmark and rows_in.ingest_id = ingests.ingest_id
