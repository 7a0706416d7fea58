-- grain: one row per long answer of LLaVA-1.5-7B on GQA that people call correct and GPT-4V does not, with its reasons (CHIRP, Table 13)
select
    answers.item_id as question_id,
    answers.prompt as question,
    answers.references as ground_truth,
    answers.text as answer,
    scores.score_0_1 as gpt4v,
    scores.rationale as reasoning
from core_scores as scores
inner join core_answers as answers
    on
        scores.benchmark = answers.benchmark
        and scores.item_id = answers.item_id
        and scores.answer_id = answers.answer_id
inner join core_human as people
    on
        scores.benchmark = people.benchmark
        and scores.item_id = people.item_id
        and scores.answer_id = people.answer_id
        and people.human_rule = 'mean'
where
    scores.benchmark = 'gqa_sample'
    and answers.model = 'llava-1.5-7b'
    and answers.style = 'long'
    and scores.alias = 'gpt4v'
    and scores.score_0_1 = 0
    and people.score_0_1 = 1
order by answers.item_id
limit 20
