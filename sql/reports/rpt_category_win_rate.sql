-- grain: one row per benchmark x rater x criterion x category x ordered pair of models: core_win_rates of the items of that category, where a
-- benchmark has several
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
    low,
    high,
    reason
from core_win_rates
where category is not null
order by benchmark, judge, criterion, category, model_a, model_b
