-- grain: one row per model x published benchmark, of current ingests
select
    rows_in.benchmark,
    rows_in.model,
    rows_in.published_benchmark,
    rows_in.score,
    rows_in.source_file,
    rows_in.locator
from raw_benchmark_scores as rows_in
semi join stg_ingests as ingests on rows_in.benchmark = ingests.benchmark and rows_in.ingest_id = ingests.ingest_id
