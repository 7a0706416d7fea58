-- grain: one row per response model x benchmark x evaluator: the mean score over the evaluator's first three inferences (Prometheus-Vision,
-- Figure 12)
select
    answers.model as row_key,
    scores.benchmark || '/' || scores.alias as column_key,
    avg(scores.rating) as value,
    count(scores.rating) as n,
    'no score can be read' as reason
from core_scores as scores
inner join core_answers as answers
    on
        scores.benchmark = answers.benchmark
        and scores.item_id = answers.item_id
        and scores.answer_id = answers.answer_id
where
    scores.benchmark in ('pv_llava_bench', 'pv_perception_bench')
    and scores.alias in ('gpt-4v', 'prometheus-vision-13b')
    and scores.sample < 3
group by answers.model, scores.benchmark, scores.alias
