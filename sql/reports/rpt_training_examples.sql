-- grain: one row per judge that was trained in this lake x outcome x score or reason: how many examples
-- (`learnt` by their score, `held_out` all together, `left_out` by reason; `share` is of the judge's rows here)
with counted as (
    select
        judge,
        benchmarks,
        'learnt' as outcome,
        unnest(scores).score as score,
        null as reason,
        unnest(scores).n as n
    from core_trainings
    union all
    select
        judge,
        benchmarks,
        'held_out' as outcome,
        null as score,
        null as reason,
        n_held_out as n
    from core_trainings
    union all
    select
        judge,
        benchmarks,
        'left_out' as outcome,
        null as score,
        unnest(left_out).reason as reason,
        unnest(left_out).n as n
    from core_trainings
)

select
    judge,
    benchmarks,
    outcome,
    score,
    reason,
    n,
    n / sum(n) over (partition by judge) as share
from counted
where n > 0
order by
    judge asc,
    list_position(['learnt', 'held_out', 'left_out'], outcome) asc,
    score asc,
    n desc,
    reason asc
