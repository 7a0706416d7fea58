-- grain: one row per answer of one benchmark: the parts of the benchmark that it is in
select
    item_id,
    answer_id,
    coalesce(task, '(none)') as task,
    coalesce(category, '(none)') as category,
    coalesce(style, '(none)') as style
from core_answers
where benchmark = $benchmark
