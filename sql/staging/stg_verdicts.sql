-- grain: one row per judge x reading x case: `ok` first, else the latest attempt
select
    judge_id,
    reading,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    status,
    rating,
    score_0_1,
    probabilities,
    captured_mass,
    rationale,
    reason,
    reply_digests,
    run_id,
    judged_at
from raw_verdicts
qualify
    row_number() over (
        partition by judge_id, reading, benchmark, item_id, content_digest, context_digest, criterion, sample
        order by (status = 'ok') desc, judged_at desc
    ) = 1
