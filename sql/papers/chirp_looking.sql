-- grain: one row per answer of LLaVA-1.5-7B on GQA that the VLM (LLaVA-34B) calls correct and the LLM does not (CHIRP, Table 14)
with graded as (
    select
        item_id,
        answer_id,
        any_value(judge) filter (where alias = 'llm') as llm,
        any_value(judge) filter (where alias = 'llava-34b') as vlm
    from scores_with_people
    where benchmark = 'gqa_sample' and model = 'llava-1.5-7b' and human_criterion = 'correctness'
    group by item_id, answer_id
)

select
    answers.item_id as question_id,
    answers.prompt as question,
    answers.references as ground_truth,
    answers.style,
    answers.text as answer,
    graded.llm,
    graded.vlm
from graded
inner join core_answers as answers
    on
        answers.benchmark = 'gqa_sample'
        and graded.item_id = answers.item_id
        and graded.answer_id = answers.answer_id
where graded.llm = 0 and graded.vlm = 1
order by answers.item_id, answers.style
limit 20
