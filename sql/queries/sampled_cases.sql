-- grain: one row per sampled group of pending cases that make equal requests: its first case, with the number of all groups; the sample
-- of $n groups is drawn by $seed
with keyed as (
    select
        rowid as row_number,
        hash(
            task, prompt, answer, other_answer, caption, images, list_sort("references"), criteria, regions, rubric_criterion, rubric_levels,
            feedbacks, shown_first, sample
        ) as request_key
    from pending
),

chosen as (
    select
        request_key,
        min(row_number) as first_row,
        count(*) over () as n_groups
    from keyed
    group by request_key
    order by hash(request_key, $seed) asc, first_row asc
    limit $n
)

select
    pending.*,
    chosen.n_groups
from pending
inner join chosen on pending.rowid = chosen.first_row
order by chosen.first_row
