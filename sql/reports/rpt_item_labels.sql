-- grain: one row per benchmark x label x labeller: share of the items looked at of which it holds (ground truths that are wrong, for one), with
-- the normal interval and Wilson's at 95 %, as last reported
select
    benchmark,
    label,
    labeller,
    n_items,
    n,
    n_holds,
    share,
    normal_low,
    normal_high,
    wilson_low,
    wilson_high,
    reported_at
from stg_item_label_shares
qualify rank() over (partition by benchmark order by reported_at desc) = 1
order by benchmark, label, labeller
