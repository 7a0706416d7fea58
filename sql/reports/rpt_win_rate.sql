-- grain: one row per benchmark x rater x criterion x ordered pair of models; win_rate is model_a's mean share of the win (a tie is half, and
-- so is a pair on which the judge's two orders differ, counted in `n_inconsistent` and not among the ties).
-- Both orders of a pair of models are there: their win rates sum to 1. A missing verdict is no row, never a loss.
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
        status,
        preference_b as share
    from choices
)

select
    benchmark,
    rater as judge,
    criterion,
    model_a,
    model_b,
    count(*) as n,
    count(*) filter (where share > 0.5) as wins,
    count(*) filter (where share = 0.5 and status = 'ok') as ties,
    count(*) filter (where status = 'inconsistent') as n_inconsistent,
    count(*) filter (where share < 0.5) as losses,
    avg(share) as win_rate
from sided
group by benchmark, rater, criterion, model_a, model_b
order by benchmark, judge, criterion, model_a, model_b
