-- grain: one row per wanted score of one metric: its row_id, and whether it is still to be computed; $item_limit: the first items by key
with wanted as (
    select
        row_id,
        benchmark,
        item_id,
        content_digest,
        case when $sees_image then image_digest else '' end as context_digest
    from wanted_scores
    where list_contains($benchmarks, benchmark) and list_contains($tasks, task)
    qualify $item_limit is null or dense_rank() over (partition by benchmark order by item_id) <= $item_limit
),

scored as (
    select * from stg_metric_scores
    where judge_id = $judge_id
)

select
    wanted.row_id,
    scored.judge_id is null as is_pending
from wanted
left join scored
    on
        wanted.benchmark = scored.benchmark
        and wanted.item_id = scored.item_id
        and wanted.content_digest = scored.content_digest
        and wanted.context_digest = scored.context_digest
