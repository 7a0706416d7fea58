-- grain: one row per benchmark x judge x status: how many wanted scores and choices stand so (`not_asked`: wanted, not yet judged)
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
)

select
    benchmark,
    judge,
    status,
    count(*) as n
from wanted
group by benchmark, judge, status
order by benchmark, judge, status
