-- grain: one row per wanted case of which some criterion has no verdict that stands; $retry: statuses that do not stand, but `failed` does
-- where nothing was asked (the next run would fail alike) unless $insist; with $run_id only verdicts of that run count.
-- Cases that show the same image or make the same request lie side by side
with outcomes as (
    select * from stg_verdicts
    union all by name
    select * from stg_duels
    union all by name
    select * from stg_generated_captions
    union all by name
    select * from stg_generated_answers
    union all by name
    select * from core_collected
),

standing as (
    select
        benchmark,
        item_id,
        content_digest,
        coalesce(other_digest, '') as other_digest,
        coalesce(shown_first, '') as shown_first,
        context_digest,
        criterion,
        sample
    from outcomes
    where
        judge_id = $judge_id
        and reading = $reading
        and (not list_contains($retry, status) or (status = 'failed' and len(reply_digests) = 0 and not $insist))
        and ($run_id is null or run_id = $run_id)
),

keys as (
    select
        benchmark,
        item_id,
        content_digest,
        other_digest,
        shown_first,
        context_digest,
        sample,
        unnest(criteria) as each_criterion,
        criterion
    from wanted_cases
),

open_keys as (
    select keys.*
    from keys
    anti join standing
        on
            keys.benchmark = standing.benchmark
            and keys.item_id = standing.item_id
            and keys.content_digest = standing.content_digest
            and keys.other_digest = standing.other_digest
            and keys.shown_first = standing.shown_first
            and keys.context_digest = standing.context_digest
            and keys.each_criterion = standing.criterion
            and keys.sample = standing.sample
)

select wanted.*
from wanted_cases as wanted
semi join open_keys
    on
        wanted.benchmark = open_keys.benchmark
        and wanted.item_id = open_keys.item_id
        and wanted.content_digest = open_keys.content_digest
        and wanted.other_digest = open_keys.other_digest
        and wanted.shown_first = open_keys.shown_first
        and wanted.context_digest = open_keys.context_digest
        and wanted.criterion = open_keys.criterion
        and wanted.sample = open_keys.sample
order by
    wanted.images[1].sha256,
    wanted.prompt,
    wanted.answer,
    wanted.other_answer,
    list_sort(wanted.references),
    wanted.caption,
    wanted.benchmark,
    wanted.item_id,
    wanted.content_digest,
    wanted.other_digest,
    wanted.criterion,
    wanted.sample,
    wanted.shown_first
