-- grain: one row per wanted case x criterion that the lake does not hold as current yet
with keys as (
    select
        * exclude (criterion),
        unnest(criteria) as criterion
    from wanted_cases
)

select
    wanted.benchmark,
    wanted.item_id,
    wanted.content_digest,
    wanted.other_digest,
    wanted.shown_first,
    wanted.context_digest,
    wanted.criterion,
    wanted.sample
from keys as wanted
anti join stg_cases as cases
    on
        cases.judge_id = $judge_id
        and wanted.benchmark = cases.benchmark
        and wanted.item_id = cases.item_id
        and wanted.content_digest = cases.content_digest
        and wanted.other_digest = cases.other_digest
        and wanted.shown_first = cases.shown_first
        and wanted.context_digest = cases.context_digest
        and wanted.criterion = cases.criterion
        and wanted.sample = cases.sample
