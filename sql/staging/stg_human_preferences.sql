-- grain: one row per annotator x pair x criterion, of current ingests
select
    rows_in.benchmark,
    rows_in.item_id,
    rows_in.answer_a,
    rows_in.answer_b,
    rows_in.criterion,
    rows_in.shown_first,
    rows_in.choice,
    rows_in.annotator,
    rows_in.study,
    rows_in.source_file,
    rows_in.locator
from raw_human_preferences as rows_in
semi join stg_ingests as ingests on rows_in.benchmark = ingests.benchmark and rows_in.ingest_id = ingests.ingest_id
