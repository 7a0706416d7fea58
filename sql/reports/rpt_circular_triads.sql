-- grain: one row per benchmark x rater x criterion: of the questions on which every pair of three models or more is decided, those whose
-- preferences run in a circle, in closed form: n models hold C(n, 3) - sum of C(wins, 2) circles of three, and none means no circle at all
-- (Kendall & Babington Smith 1940). `consistence` is the mean of their coefficient, 1 without a circle; rpt_contradictions is of any graph
with votes as (
    select
        benchmark,
        rater,
        criterion,
        item_id,
        least(model_a, model_b) as lesser,
        greatest(model_a, model_b) as greater,
        sum(
            case
                when status <> 'ok' or choice not in ('a', 'b') then 0
                when (choice = 'a') = (model_a < model_b) then 1
                else -1
            end
        ) as vote
    from core_choices
    where status in ('ok', 'inconsistent') and model_a <> model_b
    group by benchmark, rater, criterion, item_id, lesser, greater
),

wins as (
    select
        benchmark,
        rater,
        criterion,
        item_id,
        unnest([lesser, greater]) as model,
        unnest([(vote > 0)::int, (vote < 0)::int]) as won
    from votes
),

models as (
    select
        benchmark,
        rater,
        criterion,
        item_id,
        model,
        sum(won) as n_wins,
        count(*) as n_met
    from wins
    group by benchmark, rater, criterion, item_id, model
),

questions as (
    select
        benchmark,
        rater,
        criterion,
        item_id,
        count(*) as n,
        n * (n - 1) * (n - 2) / 6 - sum(n_wins * (n_wins - 1) / 2) as circles,
        case when n % 2 = 1 then n * (n * n - 1) / 24 else n * (n * n - 4) / 24 end as most_circles
    from models
    group by benchmark, rater, criterion, item_id
    having count(*) > 2 and min(n_met) = count(*) - 1 and sum(n_wins) = count(*) * (count(*) - 1) / 2
)

select
    benchmark,
    rater,
    criterion,
    count(*) as n_questions,
    count(*) filter (where circles > 0) as n_contradictory,
    n_contradictory / n_questions as share,
    sum(circles)::bigint as n_circles,
    avg(1 - circles / most_circles) as consistence
from questions
group by benchmark, rater, criterion
order by benchmark, rater, criterion
