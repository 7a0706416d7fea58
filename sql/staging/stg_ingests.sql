-- grain: one row per benchmark x source: its current ingest
select
    ingest_id,
    benchmark,
    source,
    source_digest,
    item_limit,
    n_items,
    n_answers,
    n_quarantined,
    n_source_items,
    sample_seed,
    ingested_at
from raw_ingests
qualify row_number() over (partition by benchmark, source order by ingested_at desc, ingest_id asc) = 1
