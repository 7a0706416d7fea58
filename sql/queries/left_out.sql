-- grain: one row: items of $benchmarks (the first $item_limit of each) whose task a judge of $tasks leaves out, and answers to the others
-- that it does not judge on their own: of another style than $styles ([]: all), or equal to another answer to the item
with items as (
    select
        benchmark,
        item_id,
        task
    from stg_items
    where list_contains($benchmarks, benchmark)
    qualify $item_limit is null or row_number() over (partition by benchmark order by item_id) <= $item_limit
),

others as (
    select
        count(*) as n_other_items,
        string_agg(distinct task, ', ' order by task) as other_tasks
    from items
    where not list_contains($tasks, task)
),

answers as (
    select
        answers.benchmark,
        answers.item_id,
        answers.content_digest,
        len($styles) = 0 or list_contains($styles, answers.style) as is_judged
    from stg_answers as answers
    semi join items
        on answers.benchmark = items.benchmark and answers.item_id = items.item_id and list_contains($tasks, items.task)
),

counts as (
    select
        count(*) filter (where not is_judged) as n_other_styles,
        count(*) filter (where is_judged) - count(distinct row(benchmark, item_id, content_digest)) filter (where is_judged) as n_equal
    from answers
)

select
    others.n_other_items,
    others.other_tasks,
    counts.n_other_styles,
    counts.n_equal
from others
cross join counts
