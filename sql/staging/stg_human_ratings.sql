-- grain: one row per annotator x answer x criterion, of current ingests
select
    ratings.benchmark,
    ratings.item_id,
    ratings.answer_id,
    ratings.criterion,
    ratings.annotator,
    ratings.rating,
    ratings.scale_low,
    ratings.scale_high,
    (ratings.rating - ratings.scale_low) / (ratings.scale_high - ratings.scale_low) as score_0_1,
    ratings.source_file,
    ratings.locator
from raw_human_ratings as ratings
semi join stg_ingests as ingests on ratings.benchmark = ingests.benchmark and ratings.ingest_id = ingests.ingest_id
