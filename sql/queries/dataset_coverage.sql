-- grain: one row per benchmark x judge or metric: how many scores, choices and labels were wanted, how many there are, why others are missing
with counts as (
    select
        benchmark,
        judge,
        status,
        n
    from rpt_coverage
)

select
    benchmark,
    judge,
    sum(n)::bigint as wanted,
    coalesce(sum(n) filter (where status = 'ok'), 0)::bigint as there,
    coalesce(string_agg(n || ' ' || status, ', ' order by n desc, status asc) filter (where status <> 'ok'), '') as missing
from counts
group by benchmark, judge
order by benchmark, judge
