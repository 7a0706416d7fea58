-- grain: one row per judge x benchmark x item x content x criterion x sample: the context that the last plan wanted
select
    judge_id,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    run_id,
    planned_at
from raw_cases
qualify
    row_number() over (
        partition by judge_id, benchmark, item_id, content_digest, criterion, sample order by planned_at desc
    ) = 1
