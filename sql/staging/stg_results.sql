-- grain: one row per figure of a report that was kept, every report of a suite
select
    suite,
    run_id,
    figure,
    benchmark,
    judge,
    model,
    criterion,
    value,
    low,
    high,
    n,
    reported_at
from raw_results
