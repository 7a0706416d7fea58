-- grain: one row per collector x reading x item that a rubric was asked for: `ok` first, else the latest attempt
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
    rubric_id,
    description,
    levels,
    reference,
    reason,
    reply_digests,
    run_id,
    judged_at
from raw_augmented_items
qualify
    row_number() over (
        partition by judge_id, reading, benchmark, item_id, content_digest, context_digest, criterion, sample
        order by (status = 'ok') desc, judged_at desc
    ) = 1
