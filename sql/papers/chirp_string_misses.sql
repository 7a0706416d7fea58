-- grain: one row per short answer on GQA that people and the LLM call correct and string matching does not (CHIRP, Table 11)
with graded as (
    select
        item_id,
        answer_id,
        any_value(human) as people,
        any_value(judge) filter (where alias = 'strings-gqa') as strings,
        any_value(judge) filter (where alias = 'llm') as llm
    from scores_with_people
    where benchmark = 'gqa_sample' and style = 'short' and human_criterion = 'correctness'
    group by item_id, answer_id
)

select
    answers.item_id as question_id,
    answers.prompt as question,
    answers.references as ground_truth,
    answers.model,
    answers.text as answer,
    graded.strings,
    graded.llm
from graded
inner join core_answers as answers
    on
        answers.benchmark = 'gqa_sample'
        and graded.item_id = answers.item_id
        and graded.answer_id = answers.answer_id
where graded.people = 1 and graded.llm = 1 and graded.strings = 0
order by answers.item_id, answers.model
limit 20
