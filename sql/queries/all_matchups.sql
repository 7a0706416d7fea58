-- grain: one row per pair of answers of one item, style and sample, of different models where both are known
select
    a.benchmark,
    a.item_id,
    a.answer_id as answer_a,
    b.answer_id as answer_b,
    coalesce(a.model, a.answer_id) as model_a,
    coalesce(b.model, b.answer_id) as model_b
from stg_answers as a
inner join stg_answers as b
    on
        a.benchmark = b.benchmark
        and a.item_id = b.item_id
        and a.style = b.style
        and a.sample = b.sample
        and a.answer_id < b.answer_id
where
    list_contains($benchmarks, a.benchmark)
    and (len($styles) = 0 or list_contains($styles, a.style))
    and coalesce(a.model, a.answer_id) <> coalesce(b.model, b.answer_id)
