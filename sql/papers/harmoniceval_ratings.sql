-- grain: one row per rating x task x criterion of MMHE: the share of people's ratings that are so (HarmonicEval, Figure 4)
with counted as (
    select
        benchmark,
        criterion,
        rating::int as rating,
        count(*) as n
    from human_ratings
    where benchmark in ('mmhe_reg', 'mmhe_vqa', 'mmhe_vdu', 'mmhe_ic')
    group by benchmark, criterion, rating::int
),

groups as (
    select
        benchmark,
        criterion,
        sum(n) as n_all
    from counted
    group by benchmark, criterion
),

levels as (
    select unnest(range(1, 6)) as rating
)

select
    levels.rating::varchar as row_key,
    groups.benchmark || '/' || groups.criterion as column_key,
    coalesce(counted.n, 0) / groups.n_all as value,
    groups.n_all::bigint as n,
    null as reason
from groups
cross join levels
left join counted
    on
        groups.benchmark = counted.benchmark
        and groups.criterion = counted.criterion
        and levels.rating = counted.rating
