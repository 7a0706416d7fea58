-- grain: one row per judge x reading x image: `ok` first, else the latest attempt
select
    judge_id,
    reading,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    image_uri,
    status,
    text,
    reason,
    reply_digests,
    run_id,
    judged_at
from raw_generated_captions
qualify
    row_number() over (
        partition by judge_id, reading, benchmark, item_id, context_digest, criterion, sample
        order by (status = 'ok') desc, judged_at desc
    ) = 1
