-- grain: one row per benchmark x pair of raters x criterion x label of one x label of the other: how many answers or pairs both labelled so.
-- judge_a is the lesser name; labels are core_labels', sample 0 of each. Raters who give more than 21 different labels are left out, for
-- they hardly ever give two answers the same
with raters as (
    select
        benchmark,
        criterion,
        rater
    from core_labels
    where sample = 0
    group by benchmark, criterion, rater
    having count(distinct label) <= 21
    qualify count(*) over (partition by benchmark, criterion) > 1
),

labels as (
    select labels.*
    from core_labels as labels
    semi join raters
        on labels.benchmark = raters.benchmark and labels.criterion = raters.criterion and labels.rater = raters.rater
    where labels.sample = 0
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
