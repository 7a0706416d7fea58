-- question: Which scores were paid for and are in no report any more?
-- grain: one row per benchmark x judge x reading x why its current verdicts on answers are left out
-- about: judge, why, n
-- option benchmark: only this benchmark
with names as (
    select
        judge_id,
        reading,
        arg_max(alias, registered_at) as alias
    from raw_judges
    group by judge_id, reading
),

contents as (
    select distinct
        benchmark,
        item_id,
        content_digest
    from core_answers
),

reasons as (
    select
        verdicts.benchmark,
        coalesce(names.alias, verdicts.judge_id) as judge,
        verdicts.reading,
        verdicts.status,
        verdicts.judged_at,
        case
            when judges.judge_id is null then 'the judge, or this reading of it, is in no suite of the benchmark'
            when contents.item_id is null then 'the answer was edited or is gone'
            when coalesce(cases.context_digest, 'no case') <> verdicts.context_digest
                then 'what the judge sees beside the answer changed'
        end as why
    from stg_verdicts as verdicts
    left join names on verdicts.judge_id = names.judge_id and verdicts.reading = names.reading
    left join core_judges as judges
        on
            verdicts.judge_id = judges.judge_id
            and verdicts.reading = judges.reading
            and list_contains(judges.benchmarks, verdicts.benchmark)
    left join contents
        on
            verdicts.benchmark = contents.benchmark
            and verdicts.item_id = contents.item_id
            and verdicts.content_digest = contents.content_digest
    left join stg_cases as cases
        on
            verdicts.judge_id = cases.judge_id
            and verdicts.benchmark = cases.benchmark
            and verdicts.item_id = cases.item_id
            and verdicts.content_digest = cases.content_digest
            and verdicts.criterion = cases.criterion
            and verdicts.sample = cases.sample
            and cases.other_digest = ''
    where $benchmark::varchar is null or verdicts.benchmark = $benchmark
)

select
    benchmark,
    judge,
    reading,
    why,
    count(*) as n,
    count(*) filter (where status = 'ok') as n_ok,
    max(judged_at) as last_judged_at
from reasons
where why is not null
group by benchmark, judge, reading, why
order by benchmark asc, judge asc, reading asc, why asc
