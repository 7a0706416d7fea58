-- grain: one row per benchmark x judge x status: how many wanted scores stand so (`not_asked`: wanted, not yet judged)
select
    benchmark,
    judge,
    status,
    count(*) as n
from core_scores
group by benchmark, judge, status
order by benchmark, judge, status
