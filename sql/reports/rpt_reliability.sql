-- grain: one row per benchmark ('*' all of a suite) x group of raters (people, people and a judge, judges) x kind of labels x criterion
-- ('*' all) x task, category or style ('*' all; no two of them at once) x statistic: how far all of them agree beyond chance, Fleiss' kappa and
-- Krippendorff's alpha with intervals that recompute chance
select
    benchmark,
    raters,
    kind,
    criterion,
    task,
    category,
    style,
    statistic,
    n_raters,
    per_unit,
    n,
    n_left_out,
    n_clusters,
    value,
    low,
    high,
    reason,
    strength,
    note,
    n_undefined,
    resamples,
    seed,
    reported_at
from stg_reliabilities
qualify rank() over (partition by benchmark, raters order by reported_at desc) = 1
order by benchmark, kind, criterion, task, category, style, raters, statistic
