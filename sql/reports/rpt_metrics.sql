-- grain: one row per benchmark x model ('*' all pooled) x metric or judge; mean of 0-1 scores with its 95 % interval.
-- The interval is normal with the cluster-robust (sandwich) variance of a mean, clusters being images or items.
select
    means.benchmark,
    means.model,
    judges.alias as metric,
    means.n,
    means.n_missing,
    means.mean,
    means.mean - 1.959963984540054 * means.standard_error as low,
    means.mean + 1.959963984540054 * means.standard_error as high,
    judges.judge,
    judges.signature
from core_mean_scores as means
inner join core_judges as judges on means.judge_id = judges.judge_id and means.reading = judges.reading
order by means.benchmark, judges.alias, means.model
