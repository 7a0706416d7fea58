-- grain: one row per recorded metric x answer, of current ingests
select
    rows_in.benchmark,
    rows_in.item_id,
    rows_in.answer_id,
    rows_in.metric,
    rows_in.score,
    rows_in.source_file,
    rows_in.locator
from raw_recorded_scores as rows_in
semi join stg_ingests as ingests on rows_in.benchmark = ingests.benchmark and rows_in.ingest_id = ingests.ingest_id
