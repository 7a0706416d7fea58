-- grain: one row per benchmark x rater x criterion x category x ordered pair of models; category is null over all items, and where a benchmark
-- has several each has rows of its own. win_rate is model_a's mean share of the win (a tie is half, and so is a pair on which the judge's two
-- orders differ, counted in `n_inconsistent` and not among the ties).
-- Both orders of a pair of models are there: their win rates sum to 1. A missing verdict is no row, never a loss.
-- low and high are the interval of rpt_metrics, `reason` why there is none
with choices as (
    select * from core_choices
    where status in ('ok', 'inconsistent') and model_a is distinct from model_b
),

of_categories as (
    select
        choices.*,
        items.category
    from choices
    inner join stg_items as items on choices.benchmark = items.benchmark and choices.item_id = items.item_id
    where items.category is not null
    qualify count(distinct items.category) over (partition by choices.benchmark) > 1
),

counted as (
    select * from choices
    union all by name
    select * from of_categories
),

sided as (
    select
        benchmark,
        rater,
        criterion,
        category,
        model_a,
        model_b,
        cluster,
        status,
        1 - preference_b as share
    from counted
    union all
    select
        benchmark,
        rater,
        criterion,
        category,
        model_b as model_a,
        model_a as model_b,
        cluster,
        status,
        preference_b as share
    from counted
),

clusters as (
    select
        benchmark,
        rater,
        criterion,
        category,
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
    group by benchmark, rater, criterion, category, model_a, model_b, cluster
),

weighed as (
    select
        *,
        sum(n) over compared as all_n
    from clusters
    window compared as (partition by benchmark, rater, criterion, category, model_a, model_b)
),

rates as (
    select
        benchmark,
        rater,
        criterion,
        category,
        model_a,
        model_b,
        sum(n)::bigint as n,
        sum(wins)::bigint as wins,
        sum(ties)::bigint as ties,
        sum(n_inconsistent)::bigint as n_inconsistent,
        sum(losses)::bigint as losses,
        cluster_spread(n, total, all_n) as spread
    from weighed
    group by benchmark, rater, criterion, category, model_a, model_b
),

ended as (
    select
        *,
        share_ends(spread) as ends
    from rates
)

select
    benchmark,
    rater,
    criterion,
    category,
    model_a,
    model_b,
    n,
    wins,
    ties,
    n_inconsistent,
    losses,
    spread.mean as win_rate,
    ends.low as low,
    ends.high as high,
    ends.reason as reason
from ended
