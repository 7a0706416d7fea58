-- grain: one row per benchmark x judge x status: how many wanted scores, choices and labels stand so (`not_asked`: wanted, not yet judged)
with wanted as (
    select
        benchmark,
        judge,
        status
    from core_scores
    union all
    select
        benchmark,
        rater as judge,
        status
    from core_choices
    where rater not like 'human:%'
    union all
    select
        benchmark,
        labeller as judge,
        status
    from core_failure_labels
    where labelled_by = 'judge'
)

select
    benchmark,
    judge,
    status,
    count(*) as n
from wanted
group by benchmark, judge, status
order by benchmark, judge, status
