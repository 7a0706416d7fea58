-- grain: one row per figure of a report that is not what an earlier report said: the difference on the answers scored both times
select
    suite,
    base_reported_at,
    figure,
    benchmark,
    judge,
    model,
    criterion,
    n,
    difference,
    low,
    high,
    reason,
    reported_at
from raw_paired_changes
