-- grain: one row per collector x reading x image x rubric that was asked for: `ok` first, else the latest attempt
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
    kind,
    rubric_id,
    description,
    levels,
    keywords,
    n_refined,
    reason,
    reply_digests,
    run_id,
    judged_at
from raw_collected_rubrics
qualify
    row_number() over (
        partition by judge_id, reading, benchmark, item_id, content_digest, context_digest, criterion, sample
        order by (status = 'ok') desc, judged_at desc
    ) = 1
