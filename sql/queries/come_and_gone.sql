-- grain: one row per judge or model of a benchmark that either $suite's newest report has (`is_new`) or its report of $base, not both
with named as (
    select
        reported_at,
        benchmark,
        unnest(['judge', 'model']) as kind,
        unnest([judge, model]) as name
    from stg_results
    where suite = $suite and judge not like 'metric:%'  -- their means name them by their short names
),

newest as (
    select distinct
        benchmark,
        kind,
        name
    from named
    where reported_at = (select max(reported_at) from stg_results where suite = $suite)
),

earlier as (
    select distinct
        benchmark,
        kind,
        name
    from named
    where reported_at = $base
)

select
    coalesce(newest.benchmark, earlier.benchmark) as benchmark,
    coalesce(newest.kind, earlier.kind) as kind,
    coalesce(newest.name, earlier.name) as name,
    earlier.name is null as is_new
from newest
full outer join earlier
    on newest.benchmark = earlier.benchmark and newest.kind = earlier.kind and newest.name = earlier.name
where newest.name is null or earlier.name is null
order by is_new desc, benchmark asc, kind asc, name asc
