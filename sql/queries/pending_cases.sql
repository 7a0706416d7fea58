-- grain: one row per wanted case without a verdict that stands; $retry: statuses that do not stand. Equal requests lie side by side
with standing as (
    select *
    from stg_verdicts
    where judge_id = $judge_id and reading = $reading and not list_contains($retry, status)
)

select wanted.*
from wanted_cases as wanted
anti join standing
    on
        wanted.benchmark = standing.benchmark
        and wanted.item_id = standing.item_id
        and wanted.content_digest = standing.content_digest
        and wanted.context_digest = standing.context_digest
        and wanted.criterion = standing.criterion
        and wanted.sample = standing.sample
order by wanted.prompt, wanted.answer, list_sort(wanted.references), wanted.caption, wanted.benchmark, wanted.item_id
