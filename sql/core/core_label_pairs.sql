-- grain: one row per benchmark x pair of raters x criterion x label of one x label of the other: how many answers or pairs both labelled so.
-- judge_a is the lesser name; labels are core_labels', sample 0 of each
with labels as (
    select * from core_labels
    where sample = 0
)

select
    a.benchmark,
    a.rater as judge_a,
    b.rater as judge_b,
    a.criterion,
    a.label as label_a,
    b.label as label_b,
    count(*) as n
from labels as a
inner join labels as b
    on
        a.benchmark = b.benchmark
        and a.item_id = b.item_id
        and a.subject = b.subject
        and a.criterion = b.criterion
        and a.rater < b.rater
group by a.benchmark, a.rater, b.rater, a.criterion, a.label, b.label
