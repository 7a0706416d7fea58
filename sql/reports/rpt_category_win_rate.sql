-- grain: one row per benchmark x rater x criterion x category x ordered pair of models; win_rate and its interval as in
-- rpt_win_rate, of the items of that category, where a benchmark has several
with choices as (
    select
        choices.benchmark,
        choices.rater,
        choices.criterion,
        items.category,
        choices.model_a,
        choices.model_b,
        choices.cluster,
        choices.status,
        choices.preference_b
    from core_choices as choices
    inner join stg_items as items on choices.benchmark = items.benchmark and choices.item_id = items.item_id
    where choices.status in ('ok', 'inconsistent') and items.category is not null
    qualify count(distinct items.category) over (partition by choices.benchmark) > 1
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
    from choices
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
    from choices
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
        sum(total) / sum(n) as win_rate,
        sqrt(
            greatest(sum(total * total) - 2 * win_rate * sum(total * n) + win_rate * win_rate * sum(n * n), 0)
            * count(*) / nullif(count(*) - 1, 0)
        ) / sum(n) as raw_error,
        case when win_rate > 0 and win_rate < 1 then raw_error end as standard_error
    from clusters
    group by benchmark, rater, criterion, category, model_a, model_b
)

select
    benchmark,
    rater as judge,
    criterion,
    category,
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
order by benchmark, judge, criterion, category, model_a, model_b
