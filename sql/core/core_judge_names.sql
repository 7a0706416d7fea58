-- grain: one row per `judge` of core_judges, all its readings together: `alias`, its name in the suite, is what recipes show
select
    judge,
    min(alias) as alias
from core_judges
group by judge
