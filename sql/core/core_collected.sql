-- grain: one row per collector x reading x what it was to generate, with the columns that all collectors have
with generated as (
    select
        'collected_rubrics' as table_name,
        *
    from stg_collected_rubrics
    union all by name
    select
        'collected_instructions' as table_name,
        *
    from stg_collected_instructions
    union all by name
    select
        'collected_responses' as table_name,
        *
    from stg_collected_responses
    union all by name
    select
        'augmented_items' as table_name,
        *
    from stg_augmented_items
)

select
    table_name,
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
from generated
