-- grain: one row per answer of BLIP-2 on VQAv2 that people and LAVE (GPT-3.5) call correct and VQA accuracy does not, in the order of the items
-- (LAVE, Table 4)
select
    answers.item_id as question_id,
    answers.prompt as question,
    list_sort(list_distinct(answers.references)) as reference_answers,
    answers.text as candidate_answer,
    cases.metric_score as vqa_accuracy,
    scores.score_0_1 as lave_gpt35,
    scores.rationale
from core_failure_cases as cases
inner join core_answers as answers
    on
        cases.benchmark = answers.benchmark
        and cases.item_id = answers.item_id
        and cases.answer_id = answers.answer_id
inner join core_scores as scores
    on
        cases.benchmark = scores.benchmark
        and cases.item_id = scores.item_id
        and cases.answer_id = scores.answer_id
where
    cases.benchmark = 'vqav2'
    and cases.model = 'blip2'
    and cases.case_kind = 'missed'
    and scores.alias = 'lave-gpt35'
    and scores.score_0_1 = 1
order by answers.item_id
limit 20
