-- grain: one row per answer content that a metric is wanted for and has not scored
with scored as (
    select * from stg_metric_scores where judge_id = $judge_id
)

select wanted.*
from wanted_cases as wanted
anti join scored
    on
        wanted.benchmark = scored.benchmark
        and wanted.item_id = scored.item_id
        and wanted.content_digest = scored.content_digest
order by wanted.benchmark, wanted.item_id, wanted.content_digest
