-- grain: one row per metric x benchmark x item x content x context: the latest score
select
    judge_id,
    benchmark,
    item_id,
    content_digest,
    coalesce(context_digest, '') as context_digest,
    score,
    statistics,
    reason,
    run_id,
    scored_at
from raw_metric_scores
qualify row_number() over (partition by judge_id, benchmark, item_id, content_digest, coalesce(context_digest, '') order by scored_at desc) = 1
