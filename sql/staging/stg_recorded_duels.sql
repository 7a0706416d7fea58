-- grain: one row per recorded judge x pair x criterion x sample, of current ingests
select
    rows_in.benchmark,
    rows_in.item_id,
    rows_in.answer_a,
    rows_in.answer_b,
    rows_in.criterion,
    rows_in.shown_first,
    rows_in.choice,
    rows_in.judge,
    rows_in.sample,
    rows_in.status,
    rows_in.preference_b,
    rows_in.score_a,
    rows_in.score_b,
    rows_in.text,
    rows_in.top_logprobs,
    rows_in.reason,
    rows_in.source_file,
    rows_in.locator
from raw_recorded_duels as rows_in
semi join stg_ingests as ingests on rows_in.benchmark = ingests.benchmark and rows_in.ingest_id = ingests.ingest_id
