-- grain: one row per question of the sample that the authors label as one with several right answers (CHIRP, Table 10)
select
    items.item_id as question_id,
    items.prompt as question,
    list_distinct(items.references) as ground_truth
from items
semi join item_labels as labels
    on
        items.benchmark = labels.benchmark
        and items.item_id = labels.item_id
        and labels.label = 'ambiguous'
        and labels.holds
where items.benchmark = 'textvqa_sample'
order by items.item_id
limit 20
