-- grain: one row per model x sample (GQA, TextVQA) x grader x style of answer: the share of answers that it calls correct; `human` are people
-- (CHIRP, Figures 3, 11 and 12)
with graded as (
    select
        benchmark,
        model,
        style,
        alias as grader,
        judge as grade
    from scores_with_people
    where benchmark in ('gqa_sample', 'textvqa_sample') and human_criterion = 'correctness'
    union all
    select
        people.benchmark,
        answers.model,
        answers.style,
        'human' as grader,
        people.score_0_1 as grade
    from core_human as people
    inner join core_answers as answers
        on
            people.benchmark = answers.benchmark
            and people.item_id = answers.item_id
            and people.answer_id = answers.answer_id
    where
        people.benchmark in ('gqa_sample', 'textvqa_sample')
        and people.criterion = 'correctness'
        and people.human_rule = 'mean'
)

select
    model as row_key,
    benchmark || '/' || grader || '/' || style as column_key,
    avg(grade) as value,
    count(grade) as n,
    'no grade can be read' as reason
from graded
group by model, benchmark, grader, style
