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

-- what stg_cases and stg_verdicts keep, of labellers alone: over all judges' rows it takes half a minute at ten million verdicts
labellers as (
    select
        judge_id,
        reading,
        judge,
        benchmarks
    from core_judges
    where kind = 'labeller'
),

cases as (
    select *
    from raw_cases
    where judge_id in (select judge_id from labellers)
    qualify
        row_number() over (
            partition by
                judge_id, benchmark, item_id, content_digest, coalesce(other_digest, ''), coalesce(shown_first, ''), criterion, sample
            order by planned_at desc
        ) = 1
),

verdicts as (
    select *
    from raw_verdicts
    where judge_id in (select judge_id from labellers)
    qualify
        row_number() over (
            partition by judge_id, reading, benchmark, item_id, content_digest, context_digest, criterion, sample
            order by (status = 'ok') desc, judged_at desc
        ) = 1
),

by_judges as (
    select
        answers.benchmark,
        answers.item_id,
        answers.answer_id,
        'judge' as labelled_by,
        labellers.judge as labeller,
        cases.criterion as category,
        coalesce(verdicts.status, 'not_asked') as status,
        verdicts.score_0_1 >= 0.5 as holds
    from cases
    inner join labellers on cases.judge_id = labellers.judge_id and list_contains(labellers.benchmarks, cases.benchmark)
    inner join answers
        on
            cases.benchmark = answers.benchmark
            and cases.item_id = answers.item_id
            and cases.content_digest = answers.content_digest
    left join verdicts
        on
            cases.judge_id = verdicts.judge_id
            and labellers.reading = verdicts.reading
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
