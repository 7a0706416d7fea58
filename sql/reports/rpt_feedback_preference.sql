-- grain: one row per benchmark x judge of feedbacks (or `human:<annotator>`) x two authors x criterion: whose feedback it prefers. A pair on
-- which its two orders differ is half a win each and counted in `n_inconsistent`, not among the ties; a missing verdict is in `n_missing`
select
    benchmark,
    judge,
    author_a,
    author_b,
    criterion,
    count(preference_b) as n,
    count(*) filter (where choice = 'a') as wins_a,
    count(*) filter (where choice = 'tie') as ties,
    count(*) filter (where choice = 'b') as wins_b,
    count(*) filter (where status = 'inconsistent') as n_inconsistent,
    count(*) filter (where preference_b is null) as n_missing,
    1 - avg(preference_b) as win_rate_a
from core_feedback_choices
group by benchmark, judge, author_a, author_b, criterion
order by benchmark, judge, criterion
