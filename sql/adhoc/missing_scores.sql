-- question: Where is coverage thin, and why?
-- grain: one row per benchmark x judge x status x reason (its numbers as #) of the wanted scores and duels that are not there
-- about: judge, reason, n
-- option benchmark: only this benchmark
with wanted as (
    select
        benchmark,
        alias as judge,
        item_id,
        status,
        reason
    from core_scores
    union all
    select
        benchmark,
        judge,
        item_id,
        status,
        reason
    from core_duels
    union all
    select
        benchmark,
        judge,
        item_id,
        status,
        reason
    from stg_recorded_duels
),

counted as (
    select
        benchmark,
        judge,
        status,
        regexp_replace(reason, '[0-9]+([.,][0-9]+)*', '#', 'g') as reason,
        count(*) as n,
        min(item_id) as example_item
    from wanted
    where $benchmark::varchar is null or benchmark = $benchmark
    group by all
),

shared as (
    select
        *,
        n / sum(n) over (partition by benchmark, judge) as share
    from counted
)

select
    benchmark,
    judge,
    status,
    reason,
    n,
    share,
    example_item
from shared
where status <> 'ok'
order by benchmark asc, judge asc, n desc, status asc, reason asc
