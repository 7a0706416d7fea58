-- grain: one row per label x labeller of one benchmark: items that the labeller looked at, those of which it holds, and all items
select
    label,
    labeller,
    (select count(*) from stg_items where benchmark = $benchmark) as n_items,
    count(*) as n,
    count(*) filter (where holds) as n_holds
from stg_item_labels
where benchmark = $benchmark
group by label, labeller
order by label, labeller
