-- grain: one row per benchmark x image x captioner x caption, of current ingests
select
    captions.benchmark,
    captions.image_uri,
    captions.captioner,
    captions.text,
    captions.source_file,
    captions.locator
from raw_captions as captions
semi join stg_ingests as ingests on captions.benchmark = ingests.benchmark and captions.ingest_id = ingests.ingest_id
