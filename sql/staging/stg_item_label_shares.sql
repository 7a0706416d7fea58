-- grain: one row per suite x benchmark x label x labeller: the last report's
select
    suite,
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
from raw_item_label_shares
qualify rank() over (partition by suite order by reported_at desc) = 1
