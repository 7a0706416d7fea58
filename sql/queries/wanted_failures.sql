-- grain: one row per wanted case whose answer people and string matching judge differently; equal answers are one case
with failed as (
    select
        answers.benchmark,
        answers.item_id,
        answers.content_digest
    from core_failure_cases as failures
    inner join stg_answers as answers
        on
            failures.benchmark = answers.benchmark
            and failures.item_id = answers.item_id
            and failures.answer_id = answers.answer_id
    where failures.case_kind in ('missed', 'reverse')
)

select wanted.*
from wanted_cases as wanted
semi join failed
    on
        wanted.benchmark = failed.benchmark
        and wanted.item_id = failed.item_id
        and wanted.content_digest = failed.content_digest
