-- grain: one row per grader x criterion x model x item x sample of the answers of one benchmark that have a long and a short form, both
-- graded; only graders whose scores are all 0 or 1. `human` is what all annotators of an answer said, where they agree
with answers as (
    select
        item_id,
        answer_id,
        model,
        style,
        sample,
        cluster
    from core_answers
    where benchmark = $benchmark
    qualify count(distinct style) over (partition by item_id, model, sample) > 1
),

people as (
    select
        item_id,
        answer_id,
        'human' as judge,
        criterion,
        max(score_0_1) as score
    from stg_human_ratings
    where benchmark = $benchmark
    group by item_id, answer_id, criterion
    having min(score_0_1) = max(score_0_1)
),

grades as (
    select
        item_id,
        answer_id,
        judge,
        criterion,
        score_0_1 as score
    from core_scores
    where benchmark = $benchmark and status = 'ok' and sample = 0
    union all by name
    select * from people
),

graded as (
    select
        grades.judge,
        grades.criterion,
        answers.model,
        answers.item_id,
        answers.sample,
        any_value(answers.cluster) as cluster,
        bool_and(grades.score in (0, 1)) as is_binary,
        max(grades.score) filter (where answers.style = 'long') as long_form,
        max(grades.score) filter (where answers.style = 'short') as short_form
    from grades
    inner join answers on grades.item_id = answers.item_id and grades.answer_id = answers.answer_id
    group by grades.judge, grades.criterion, answers.model, answers.item_id, answers.sample
),

kept as (
    select * from graded
    where long_form is not null and short_form is not null
    qualify bool_and(is_binary) over (partition by judge, criterion)
)

select
    judge,
    criterion,
    model,
    long_form,
    short_form,
    cluster_key($benchmark, cluster) as cluster_key
from kept
order by judge, criterion, model, item_id, sample
