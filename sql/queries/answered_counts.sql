-- grain: one row per status of the answers that an answerer ($judge_id, $reading) was to generate to the items of $benchmarks as they are now
-- (`not_asked`: planned, and not generated yet), with the most frequent reason
with wanted as (
    select cases.*
    from stg_cases as cases
    semi join stg_items as items
        on
            cases.benchmark = items.benchmark
            and cases.item_id = items.item_id
            and cases.content_digest = left(sha256(items.prompt), 16)
    where cases.judge_id = $judge_id and list_contains($benchmarks, cases.benchmark)
),

outcomes as (
    select
        coalesce(answers.status, 'not_asked') as status,
        answers.reason
    from wanted
    left join stg_generated_answers as answers
        on
            answers.reading = $reading
            and wanted.judge_id = answers.judge_id
            and wanted.benchmark = answers.benchmark
            and wanted.item_id = answers.item_id
            and wanted.content_digest = answers.content_digest
            and wanted.context_digest = answers.context_digest
            and wanted.sample = answers.sample
)

select
    status,
    count(*) as n,
    mode(reason) as reason
from outcomes
group by status
order by status <> 'ok' asc, n desc, status asc
