-- grain: one row per benchmark x model ('*' all pooled) x metric or judge; mean of scores with its 95 % interval.
-- The interval has the bias-reduced cluster-robust variance of a mean, clusters being images or items, and Student's t, of scores from 0 to
-- 1 on the scale of log odds (see the function spread_ends); `reason` says why there is none. `n_partly_missing` of the `n` answers lack
-- the score of some criterion or sample: their means are of the others. `least` and `most` are worst cases: the mean were each missing score 0,
-- or 1 (Manski 1990), those included; they hold whatever the reason of the gaps, and say nothing of sampling. A metric with scores beyond 0
-- and 1 has none
with ended as (
    select
        *,
        spread_ends(spread, are_0_1) as ends
    from core_mean_scores
)

select
    means.benchmark,
    means.model,
    judges.alias as metric,
    means.n,
    means.n_missing,
    means.n_partly_missing,
    means.mean,
    means.ends.low as low,
    means.ends.high as high,
    means.ends.reason as reason,
    means.least,
    means.most,
    judges.judge,
    judges.signature
from ended as means
inner join core_judges as judges on means.judge_id = judges.judge_id and means.reading = judges.reading
order by means.benchmark, judges.alias, means.model
