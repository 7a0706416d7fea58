-- grain: one row per judge x benchmark x item x content x other content x order x criterion x sample: stg_cases' rows that compare two contents.
-- Kept apart, for a lake of ten million scores may have no pair, and its files show that before anything is sorted
select
    judge_id,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    other_digest,
    coalesce(shown_first, '') as shown_first,
    run_id,
    planned_at
from raw_cases
where other_digest <> ''
qualify
    row_number() over (
        partition by judge_id, benchmark, item_id, content_digest, other_digest, coalesce(shown_first, ''), criterion, sample
        order by planned_at desc
    ) = 1
