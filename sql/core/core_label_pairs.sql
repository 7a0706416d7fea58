-- grain: one row per benchmark x pair of raters x criterion x label of one x label of the other: how many answers or pairs both labelled so.
-- judge_a is the lesser name; labels are core_labels', sample 0 of each. Raters who give more than 21 different labels are left out, for
-- they hardly ever give two answers the same
with labelled as not materialized (
    select
        *,
        hash(benchmark, criterion, rater) as rater_hash
    from core_labels
    where sample = 0
),

-- one cheap pass leaves out most: an estimate is some percent off, and 1,000 is far from 21
few_labels as materialized (
    select rater_hash
    from labelled
    group by rater_hash
    having approx_count_distinct(score_0_1) < 1000
),

raters as (
    select
        labelled.benchmark,
        labelled.criterion,
        labelled.rater
    from labelled
    inner join few_labels on labelled.rater_hash = few_labels.rater_hash
    group by labelled.benchmark, labelled.criterion, labelled.rater
    having count(distinct labelled.score_0_1) + count(distinct labelled.choice) <= 21
    qualify count(*) over (partition by labelled.benchmark, labelled.criterion) > 1
),

labels as (
    select labelled.*
    from labelled
    semi join raters
        on labelled.benchmark = raters.benchmark and labelled.criterion = raters.criterion and labelled.rater = raters.rater
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
