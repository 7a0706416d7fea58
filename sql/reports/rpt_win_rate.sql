-- grain: one row per benchmark x rater x criterion x ordered pair of models: core_win_rates over all items
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
    low,
    high,
    reason
from core_win_rates
where category is null
order by benchmark, judge, criterion, model_a, model_b
