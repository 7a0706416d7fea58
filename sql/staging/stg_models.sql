-- grain: one row per benchmark x model, of current ingests
select
    rows_in.benchmark,
    rows_in.model,
    rows_in.family,
    rows_in.llm_parameters_b,
    rows_in.vision_encoder_parameters_b,
    rows_in.training_loss,
    rows_in.source_file,
    rows_in.locator
from raw_models as rows_in
semi join stg_ingests as ingests on rows_in.benchmark = ingests.benchmark and rows_in.ingest_id = ingests.ingest_id
