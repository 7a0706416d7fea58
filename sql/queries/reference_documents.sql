-- grain: one row per current answer of the benchmark to an item of these tasks: the item's references, a document each
select items.references
from stg_items as items
inner join stg_answers as answers on items.benchmark = answers.benchmark and items.item_id = answers.item_id
where items.benchmark = $benchmark and list_contains($tasks, items.task)
