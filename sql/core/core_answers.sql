-- grain: one row per benchmark x item x answer, with its item beside it
select
    answers.benchmark,
    answers.item_id,
    answers.answer_id,
    coalesce(answers.model, '(unnamed)') as model,
    answers.style,
    answers.sample,
    items.task,
    items.prompt,
    items.references,
    items.images,
    items.category,
    items.split,
    items.cluster,
    answers.text,
    answers.content_digest,
    answers.n_repeats
from stg_answers as answers
inner join stg_items as items on answers.benchmark = items.benchmark and answers.item_id = items.item_id
