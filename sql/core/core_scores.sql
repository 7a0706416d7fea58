-- grain: one row per judge x answer x criterion x sample that was wanted; `score_0_1` only where `status` is ok. Pairs are core_duels
with verdicts as not materialized (
    -- 64 bits, as many as a digest has, are enough to identify a judge's cases: two columns are compared in place of eight
    select
        judge_id,
        hash(reading, benchmark, item_id, content_digest, context_digest, criterion, sample) as key_hash,
        status,
        rating,
        score_0_1,
        rationale,
        reason
    from stg_verdicts
),

judged as (
    select
        judges.judge,
        judges.alias,
        judges.judge_id,
        judges.reading,
        answers.benchmark,
        answers.item_id,
        answers.answer_id,
        answers.model,
        answers.cluster,
        cases.criterion,
        cases.sample,
        coalesce(verdicts.status, 'not_asked') as status,
        verdicts.rating,
        verdicts.score_0_1,
        verdicts.rationale,
        verdicts.reason
    from core_answers as answers
    inner join stg_cases as cases
        on
            answers.benchmark = cases.benchmark
            and answers.item_id = cases.item_id
            and answers.content_digest = cases.content_digest
            and cases.other_digest = ''
    inner join core_judges as judges
        on
            cases.judge_id = judges.judge_id
            and judges.kind = 'judge'
            and list_contains(judges.benchmarks, cases.benchmark)
    left join verdicts
        on
            cases.judge_id = verdicts.judge_id
            and hash(
                judges.reading,
                cases.benchmark,
                cases.item_id,
                cases.content_digest,
                cases.context_digest,
                cases.criterion,
                cases.sample
            ) = verdicts.key_hash
),

measured as (
    select
        judges.judge,
        judges.alias,
        judges.judge_id,
        judges.reading,
        answers.benchmark,
        answers.item_id,
        answers.answer_id,
        answers.model,
        answers.cluster,
        'overall' as criterion,
        0 as sample,
        case when scores.judge_id is null then 'not_asked' when scores.score is null then 'undefined' else 'ok' end as status,
        scores.score as rating,
        scores.score as score_0_1,
        null as rationale,
        scores.reason
    from core_answers as answers
    inner join core_judges as judges
        on
            judges.kind = 'metric'
            and list_contains(judges.benchmarks, answers.benchmark)
            and list_contains(judges.tasks, answers.task)
    left join stg_metric_scores as scores
        on
            judges.judge_id = scores.judge_id
            and answers.benchmark = scores.benchmark
            and answers.item_id = scores.item_id
            and answers.content_digest = scores.content_digest
            and scores.context_digest in ('', coalesce(left(answers.images[1].sha256, 16), 'none'))
),

recorded as (
    select
        judges.judge,
        judges.alias,
        judges.judge_id,
        judges.reading,
        answers.benchmark,
        answers.item_id,
        answers.answer_id,
        answers.model,
        answers.cluster,
        verdicts.criterion,
        verdicts.sample,
        verdicts.status,
        verdicts.rating,
        verdicts.score_0_1,
        verdicts.text as rationale,
        verdicts.reason
    from stg_recorded_verdicts as verdicts
    inner join core_answers as answers
        on
            verdicts.benchmark = answers.benchmark
            and verdicts.item_id = answers.item_id
            and verdicts.answer_id = answers.answer_id
    inner join core_judges as judges on verdicts.judge = judges.alias and judges.kind = 'recorded'
),

recorded_metrics as (
    select
        judges.judge,
        judges.alias,
        judges.judge_id,
        judges.reading,
        answers.benchmark,
        answers.item_id,
        answers.answer_id,
        answers.model,
        answers.cluster,
        'overall' as criterion,
        0 as sample,
        case when scores.score is null then 'undefined' else 'ok' end as status,
        scores.score as rating,
        scores.score as score_0_1,
        null as rationale,
        null as reason
    from stg_recorded_scores as scores
    inner join core_answers as answers
        on
            scores.benchmark = answers.benchmark
            and scores.item_id = answers.item_id
            and scores.answer_id = answers.answer_id
    inner join core_judges as judges on scores.metric = judges.alias and judges.kind = 'recorded_metric'
)

select * from judged
union all by name
select * from measured
union all by name
select * from recorded
union all by name
select * from recorded_metrics
