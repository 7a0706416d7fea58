-- grain: one row per ordered pair of Robin models that the survey compared: the share of people's preferences, overall, that go to the second
-- (CHIRP, Figure 24)
with both_ways as (
    select
        model_a as row_key,
        model_b as column_key,
        preference_b as value
    from duels_with_people
    where benchmark = 'chirp_all_robin' and rater = 'human' and criterion = 'overall'
    union all
    select
        model_b as row_key,
        model_a as column_key,
        1 - preference_b as value
    from duels_with_people
    where benchmark = 'chirp_all_robin' and rater = 'human' and criterion = 'overall'
)

select
    row_key,
    column_key,
    avg(value) as value,
    count(value) as n,
    'no preference' as reason
from both_ways
group by row_key, column_key
