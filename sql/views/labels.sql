-- grain: one row per rater x answer or pair of answers x criterion x sample that has a label: what raters agree on or not. Raters are judges
-- and `human:<annotator>`; `unit` names what was labelled, `label` is a score or a choice (a, b, tie), `score` the former from 0 to 1
select
    labels.benchmark,
    labels.rater,
    labels.criterion,
    labels.label,
    labels.score_0_1 as score,
    labels.choice,
    answers.model,
    answers.task,
    answers.category,
    answers.style,
    labels.item_id,
    labels.sample,
    labels.benchmark || '/' || labels.item_id || '/' || labels.subject as unit,
    labels.benchmark || '/' || items.cluster as cluster
from core_labels as labels
inner join stg_items as items on labels.benchmark = items.benchmark and labels.item_id = items.item_id
left join core_answers as answers
    on labels.benchmark = answers.benchmark and labels.item_id = answers.item_id and labels.subject = answers.answer_id
