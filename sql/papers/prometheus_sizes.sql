-- grain: one row per benchmark, and one of each study's together (`pv15`, `pv`): how many instances and rubrics it has (Prometheus-Vision,
-- Tables 4 and 5)
with instances as (
    select
        benchmark,
        count(*) as n_instances
    from items
    where benchmark like 'pv\_%' escape '\' or benchmark like 'pv15\_%' escape '\'
    group by benchmark
),

rubrics_of as (
    select
        benchmark,
        count(distinct rubric_id) as n_rubrics
    from item_rubrics
    group by benchmark
),

counted as (
    select
        coalesce(instances.benchmark, split_part(any_value(instances.benchmark), '_', 1)) as row_key,
        sum(instances.n_instances)::double as instances,
        sum(coalesce(rubrics_of.n_rubrics, 0))::double as rubrics
    from instances
    left join rubrics_of on instances.benchmark = rubrics_of.benchmark
    group by grouping sets ((instances.benchmark), (split_part(instances.benchmark, '_', 1)))
)

select
    row_key,
    counted_what as column_key,
    how_many as value,
    1 as n,
    null as reason
from counted
unpivot (how_many for counted_what in (instances, rubrics))
