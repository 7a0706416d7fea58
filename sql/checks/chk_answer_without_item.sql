-- check: the item of every current answer is there
-- grain: one row per answer whose item is not
select
    answers.benchmark,
    answers.item_id,
    answers.answer_id,
    answers.source_file,
    answers.locator
from stg_answers as answers
anti join stg_items as items on answers.benchmark = items.benchmark and answers.item_id = items.item_id
