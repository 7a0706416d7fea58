-- grain: one row per benchmark x rubric, of current ingests
select
    rows_in.benchmark,
    rows_in.rubric_id,
    rows_in.criterion,
    rows_in.levels,
    rows_in.source_file,
    rows_in.locator
from raw_rubrics as rows_in
semi join stg_ingests as ingests on rows_in.benchmark = ingests.benchmark and rows_in.ingest_id = ingests.ingest_id
