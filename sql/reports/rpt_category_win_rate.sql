-- grain: one row per benchmark x rater x criterion x category x ordered pair of models; win_rate as in rpt_win_rate, of the items of that
-- category, where a benchmark has several
with choices as (
    select
        choices.benchmark,
        choices.rater,
        choices.criterion,
        items.category,
        choices.model_a,
        choices.model_b,
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
        status,
        preference_b as share
    from choices
)

select
    benchmark,
    rater as judge,
    criterion,
    category,
    model_a,
    model_b,
    count(*) as n,
    count(*) filter (where share > 0.5) as wins,
    count(*) filter (where share = 0.5 and status = 'ok') as ties,
    count(*) filter (where status = 'inconsistent') as n_inconsistent,
    count(*) filter (where share < 0.5) as losses,
    avg(share) as win_rate
from sided
group by benchmark, rater, criterion, category, model_a, model_b
order by benchmark, judge, criterion, category, model_a, model_b
