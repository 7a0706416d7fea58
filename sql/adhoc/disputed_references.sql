-- question: Which items have references that disagree among themselves?
-- grain: one row per item with several distinct references (case and blanks around them left aside), the least agreed first
-- about: item_id, share_of_most_frequent, given
-- option benchmark: only this benchmark
-- option task: only items of this task, such as vqa
-- option n = 50: how many rows
with given as (
    select
        benchmark,
        item_id,
        prompt,
        lower(trim(unnest("references"))) as reference
    from stg_items
    where ($benchmark::varchar is null or benchmark = $benchmark) and ($task::varchar is null or task = $task)
),

counted as (
    select
        benchmark,
        item_id,
        any_value(prompt) as prompt,
        reference,
        count(*) as n
    from given
    group by benchmark, item_id, reference
)

select
    benchmark,
    item_id,
    any_value(prompt) as prompt,
    sum(n)::bigint as n_references,
    count(*) as n_distinct,
    max(n) / sum(n) as share_of_most_frequent,
    list(reference || ' ×' || n order by n desc, reference asc) as given
from counted
group by benchmark, item_id
having count(*) > 1
order by share_of_most_frequent asc, n_distinct desc, benchmark asc, item_id asc
limit $n::bigint
