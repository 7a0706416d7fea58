-- grain: one row per rater (`human`: the survey's participants): distance correlation of the models' Elo and their training loss, of all Robin
-- models, overall. Elo is the mean over shuffled orders
with ratings as (
    select
        rater,
        elo(model_a, model_b, preference_b) as by_model,
        count(preference_b) as n
    from duels_with_people
    where benchmark = 'chirp_all_robin' and criterion = 'overall' and preference_b is not null
    group by rater
),

rated as (
    select
        rater,
        n,
        unnest(map_keys(by_model)) as model,
        unnest(map_values(by_model)) as rating
    from ratings
)

select
    coalesce(names.alias, rated.rater) as row_key,
    'dcor' as column_key,
    distance_correlation(rated.rating, models.training_loss) as value,
    any_value(rated.n) as n,
    'fewer than two models have a training loss' as reason
from rated
inner join models on models.benchmark = 'chirp_all_robin' and rated.model = models.model
left join core_judge_names as names on rated.rater = names.judge
group by coalesce(names.alias, rated.rater)
