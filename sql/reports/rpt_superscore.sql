-- grain: one row per benchmark x grader of 0 or 1 x criterion x model ('*' all): shares of items answered right in the long form, in the short
-- form, and in either (CHIRP's superscore), of the items answered in both, as last reported
select
    benchmark,
    judge,
    criterion,
    model,
    n,
    n_clusters,
    long,
    long_low,
    long_high,
    long_reason,
    short,
    short_low,
    short_high,
    short_reason,
    either,
    either_low,
    either_high,
    either_reason,
    n_undefined,
    resamples,
    seed,
    reported_at
from stg_superscores
qualify rank() over (partition by benchmark, judge order by reported_at desc) = 1
order by benchmark, judge, criterion, model
