-- grain: one row per answer x failure category x labeller that was to decide it; `holds` only where `status` is ok, and several may.
-- `labelled_by`: imported (people, or whoever a source names), rules, or a judge of our own
with answers as (
    select * from core_answers
),

imported as (
    select
        benchmark,
        item_id,
        answer_id,
        'imported' as labelled_by,
        labeller,
        category,
        'ok' as status,
        holds
    from stg_failure_labels
),

by_rules as (
    select distinct
        answers.benchmark,
        answers.item_id,
        answers.answer_id,
        'rules' as labelled_by,
        labels.labeller,
        labels.category,
        'ok' as status,
        labels.holds
    from stg_rule_labels as labels
    inner join answers
        on
            labels.benchmark = answers.benchmark
            and labels.item_id = answers.item_id
            and labels.content_digest = answers.content_digest
),

by_judges as (
    select
        answers.benchmark,
        answers.item_id,
        answers.answer_id,
        'judge' as labelled_by,
        judges.judge as labeller,
        cases.criterion as category,
        coalesce(verdicts.status, 'not_asked') as status,
        verdicts.score_0_1 >= 0.5 as holds
    from answers
    inner join stg_cases as cases
        on
            answers.benchmark = cases.benchmark
            and answers.item_id = cases.item_id
            and answers.content_digest = cases.content_digest
    inner join core_judges as judges
        on
            cases.judge_id = judges.judge_id
            and judges.kind = 'labeller'
            and list_contains(judges.benchmarks, cases.benchmark)
    left join stg_verdicts as verdicts
        on
            cases.judge_id = verdicts.judge_id
            and judges.reading = verdicts.reading
            and cases.benchmark = verdicts.benchmark
            and cases.item_id = verdicts.item_id
            and cases.content_digest = verdicts.content_digest
            and cases.context_digest = verdicts.context_digest
            and cases.criterion = verdicts.criterion
            and cases.sample = verdicts.sample
)

select * from imported
union all by name
select * from by_rules
union all by name
select * from by_judges
