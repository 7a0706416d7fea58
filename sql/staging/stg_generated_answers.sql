-- grain: one row per answerer x reading x item x sample: `ok` first, else the latest attempt
select
    judge_id,
    reading,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    model,
    style,
    status,
    text,
    reason,
    reply_digests,
    run_id,
    judged_at
from raw_generated_answers
qualify
    row_number() over (
        partition by judge_id, reading, benchmark, item_id, content_digest, context_digest, criterion, sample
        order by (status = 'ok') desc, judged_at desc
    ) = 1
