-- grain: one row per benchmark x pair of raters x criterion x label of one x label of the other: the occupied cells of their confusion
-- matrix, and the share of the row. Only raters of ten labels or fewer: scores of more are a measure, no classes
with cells as (
    select
        benchmark,
        judge_a,
        judge_b,
        criterion,
        label_a,
        label_b,
        sum(n)::bigint as n
    from core_label_pairs
    group by benchmark, judge_a, judge_b, criterion, label_a, label_b
    qualify
        count(distinct label_a) over (partition by benchmark, judge_a, judge_b, criterion) <= 10
        and count(distinct label_b) over (partition by benchmark, judge_a, judge_b, criterion) <= 10
)

select
    benchmark,
    judge_a,
    judge_b,
    criterion,
    label_a,
    label_b,
    n,
    n / sum(n) over (partition by benchmark, judge_a, judge_b, criterion, label_a) as share
from cells
order by benchmark, judge_a, judge_b, criterion, label_a, label_b
