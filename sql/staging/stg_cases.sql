-- grain: one row per judge x benchmark x item x content x other content x order x criterion x sample: the context that the last plan wanted
with cases as (
    select
        *,
        coalesce(other_digest, '') as pair_digest,
        coalesce(shown_first, '') as first_shown
    from raw_cases
)

select
    judge_id,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    pair_digest as other_digest,
    first_shown as shown_first,
    run_id,
    planned_at
from cases
qualify
    row_number() over (
        partition by judge_id, benchmark, item_id, content_digest, pair_digest, first_shown, criterion, sample
        order by planned_at desc
    ) = 1
