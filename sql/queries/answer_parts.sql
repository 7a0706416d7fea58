-- grain: one row per answer of one benchmark: the parts of the benchmark that it is in
select
    item_id,
    answer_id,
    task,
    coalesce(category, '(none)') as category,
    style
from core_answers
where benchmark = $benchmark
