-- grain: one row per input row that did not pass, of current ingests
select
    bad.benchmark,
    bad.table_name,
    bad.source_file,
    bad.locator,
    bad.column_name,
    bad.value,
    bad.reason,
    bad.remedy
from raw_quarantine as bad
semi join stg_ingests as ingests on bad.benchmark = ingests.benchmark and bad.ingest_id = ingests.ingest_id
