-- grain: one row per annotator x answer x criterion x two authors of feedback, of current ingests
select
    rows_in.benchmark,
    rows_in.item_id,
    rows_in.answer_id,
    rows_in.criterion,
    rows_in.author_a,
    rows_in.author_b,
    rows_in.annotator,
    rows_in.choice,
    rows_in.source_file,
    rows_in.locator
from raw_feedback_preferences as rows_in
semi join stg_ingests as ingests on rows_in.benchmark = ingests.benchmark and rows_in.ingest_id = ingests.ingest_id
