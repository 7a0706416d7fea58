-- grain: one row per recorded judge x answer x criterion x sample, of current ingests
select
    rows_in.benchmark,
    rows_in.item_id,
    rows_in.answer_id,
    rows_in.judge,
    rows_in.criterion,
    rows_in.sample,
    rows_in.status,
    rows_in.rating,
    rows_in.scale_low,
    rows_in.scale_high,
    rows_in.text,
    rows_in.reason,
    rows_in.source_file,
    rows_in.locator,
    (rows_in.rating - rows_in.scale_low) / (rows_in.scale_high - rows_in.scale_low) as score_0_1
from raw_recorded_verdicts as rows_in
semi join stg_ingests as ingests on rows_in.benchmark = ingests.benchmark and rows_in.ingest_id = ingests.ingest_id
