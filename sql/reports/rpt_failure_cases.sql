-- grain: one row per benchmark x model ('*' all pooled) x kind of case: how often people and string matching differ (LAVE: 16.33 % missed,
-- 1.72 % the reverse), of the `n` answers that both have scored
with cases as (
    select * from core_failure_cases
),

counted as (
    select
        benchmark,
        case when grouping(model) = 1 then '*' else model end as model,
        any_value(metric) as metric,
        count(*) as n,
        count(*) filter (where case_kind = 'missed') as missed,
        count(*) filter (where case_kind = 'reverse') as reverse
    from cases
    group by grouping sets ((benchmark, model), (benchmark))
)

select
    benchmark,
    model,
    case_kind,
    metric,
    n_cases,
    n,
    n_cases / n as share
from counted unpivot (n_cases for case_kind in (missed, reverse))
order by benchmark, case_kind, model
