-- grain: one row per judge x reading x case: `ok` first, else the latest attempt
with attempts as not materialized (
    select
        *,
        hash(reading, benchmark, item_id, content_digest, context_digest, criterion, sample) as key_hash
    from raw_verdicts
),

-- of ten million cases few have a second attempt: those alone are sorted, with any whose hash is another's by chance
repeated as materialized (
    select
        judge_id,
        key_hash
    from attempts
    group by judge_id, key_hash
    having count(*) > 1
),

kept as (
    select attempts.*
    from attempts
    left join repeated on attempts.judge_id = repeated.judge_id and attempts.key_hash = repeated.key_hash
    where repeated.key_hash is null
    union all
    select attempts.*
    from attempts
    inner join repeated on attempts.judge_id = repeated.judge_id and attempts.key_hash = repeated.key_hash
    qualify
        row_number() over (
            partition by
                attempts.judge_id,
                attempts.reading,
                attempts.benchmark,
                attempts.item_id,
                attempts.content_digest,
                attempts.context_digest,
                attempts.criterion,
                attempts.sample
            order by (attempts.status = 'ok') desc, attempts.judged_at desc
        ) = 1
)

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
from kept
