-- grain: one row per metric x benchmark x item x content: the latest score
select
    judge_id,
    benchmark,
    item_id,
    content_digest,
    score,
    reason,
    run_id,
    scored_at
from raw_metric_scores
qualify row_number() over (partition by judge_id, benchmark, item_id, content_digest order by scored_at desc) = 1
