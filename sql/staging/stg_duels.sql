-- grain: one row per judge x reading x pair x order x criterion x sample: `ok` first, else the latest attempt
select
    judge_id,
    reading,
    benchmark,
    item_id,
    content_digest,
    other_digest,
    shown_first,
    context_digest,
    criterion,
    sample,
    status,
    choice,
    preference_b,
    score_a,
    score_b,
    probabilities,
    captured_mass,
    rationale,
    reason,
    reply_digests,
    run_id,
    judged_at
from raw_duels
qualify
    row_number() over (
        partition by
            judge_id, reading, benchmark, item_id, content_digest, other_digest, shown_first, context_digest, criterion, sample
        order by (status = 'ok') desc, judged_at desc
    ) = 1
