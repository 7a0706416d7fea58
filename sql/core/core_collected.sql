-- grain: one row per collector x reading x what it was to generate, as far as all collectors have the same columns
select
    'collected_rubrics' as table_name,
    judge_id,
    reading,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    status,
    reason,
    reply_digests,
    run_id,
    judged_at
from stg_collected_rubrics
union all
select
    'collected_instructions' as table_name,
    judge_id,
    reading,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    status,
    reason,
    reply_digests,
    run_id,
    judged_at
from stg_collected_instructions
union all
select
    'collected_responses' as table_name,
    judge_id,
    reading,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    status,
    reason,
    reply_digests,
    run_id,
    judged_at
from stg_collected_responses
union all
select
    'augmented_items' as table_name,
    judge_id,
    reading,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    status,
    reason,
    reply_digests,
    run_id,
    judged_at
from stg_augmented_items
