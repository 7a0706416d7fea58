-- grain: one row per benchmark x label x labeller: share of the items looked at of which it holds (ground truths that are wrong, for one), with
-- the normal interval, as CHIRP reports it (cut at 0 and 1; too narrow near them), and Wilson's at 95 %.
-- Both take items as independent: where several share an image they are too narrow
with counted as (
    select
        benchmark,
        label,
        labeller,
        count(*) as n,
        count(*) filter (where holds) as n_holds
    from stg_item_labels
    group by benchmark, label, labeller
),

items as (
    select
        benchmark,
        count(*) as n_items
    from stg_items
    group by benchmark
),

shares as (
    select
        counted.*,
        items.n_items,
        counted.n_holds / counted.n as share,
        1.959963984540054 as z
    from counted
    inner join items on counted.benchmark = items.benchmark
)

select
    benchmark,
    label,
    labeller,
    n_items,
    n,
    n_holds,
    share,
    greatest(share - z * sqrt(share * (1 - share) / n), 0) as normal_low,
    least(share + z * sqrt(share * (1 - share) / n), 1) as normal_high,
    case when n_holds = 0 then 0.0 else wilson_end(share, n, -z) end as wilson_low,
    case when n_holds = n then 1.0 else wilson_end(share, n, z) end as wilson_high
from shares
order by benchmark, label, labeller
