-- grain: one row per benchmark x rater x criterion x ordered pair of models; win_rate is model_a's mean share of the win (a tie is half, and
-- so is a pair on which the judge's two orders differ, counted in `n_inconsistent` and not among the ties).
-- Both orders of a pair of models are there: their win rates sum to 1. A missing verdict is no row, never a loss.
-- low and high are the interval of rpt_metrics (normal, cluster-robust), cut at 0 and 1; none where one model gets every win or of one cluster
with choices as (
    select * from core_choices
    where status in ('ok', 'inconsistent')
),

sided as (
    select
        benchmark,
        rater,
        criterion,
        model_a,
        model_b,
        cluster,
        status,
        1 - preference_b as share
    from choices
    union all
    select
        benchmark,
        rater,
        criterion,
        model_b as model_a,
        model_a as model_b,
        cluster,
        status,
        preference_b as share
    from choices
),

clusters as (
    select
        benchmark,
        rater,
        criterion,
        model_a,
        model_b,
        cluster,
        count(*) as n,
        count(*) filter (where share > 0.5) as wins,
        count(*) filter (where share = 0.5 and status = 'ok') as ties,
        count(*) filter (where status = 'inconsistent') as n_inconsistent,
        count(*) filter (where share < 0.5) as losses,
        sum(share) as total
    from sided
    group by benchmark, rater, criterion, model_a, model_b, cluster
),

rates as (
    select
        benchmark,
        rater,
        criterion,
        model_a,
        model_b,
        sum(n)::bigint as n,
        sum(wins)::bigint as wins,
        sum(ties)::bigint as ties,
        sum(n_inconsistent)::bigint as n_inconsistent,
        sum(losses)::bigint as losses,
        sum(total) / sum(n) as win_rate,
        sqrt(
            greatest(sum(total * total) - 2 * win_rate * sum(total * n) + win_rate * win_rate * sum(n * n), 0)
            * count(*) / nullif(count(*) - 1, 0)
        ) / sum(n) as raw_error,
        case when win_rate > 0 and win_rate < 1 then raw_error end as standard_error
    from clusters
    group by benchmark, rater, criterion, model_a, model_b
)

select
    benchmark,
    rater as judge,
    criterion,
    model_a,
    model_b,
    n,
    wins,
    ties,
    n_inconsistent,
    losses,
    win_rate,
    case when standard_error is not null then greatest(win_rate - 1.959963984540054 * standard_error, 0) end as low,
    case when standard_error is not null then least(win_rate + 1.959963984540054 * standard_error, 1) end as high
from rates
order by benchmark, judge, criterion, model_a, model_b
