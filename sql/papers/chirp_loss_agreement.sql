-- grain: one row per rater (`human`: the survey's participants): how often the model with the lower training loss is preferred, of all Robin
-- models, overall; a tie is half
with losses as (
    select
        model,
        training_loss
    from models
    where benchmark = 'chirp_all_robin'
)

select
    coalesce(names.alias, duels.rater) as row_key,
    'agreement' as column_key,
    win_rate(case when b.training_loss < a.training_loss then duels.preference_b else 1 - duels.preference_b end) as value,
    count(duels.preference_b) as n,
    'no preference can be read' as reason
from duels_with_people as duels
inner join losses as a on duels.model_a = a.model
inner join losses as b on duels.model_b = b.model and a.training_loss <> b.training_loss
left join core_judge_names as names on duels.rater = names.judge
where duels.benchmark = 'chirp_all_robin' and duels.criterion = 'overall'
group by coalesce(names.alias, duels.rater)
