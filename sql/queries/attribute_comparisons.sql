-- grain: one row per rater x pair x criterion x sample x attribute of one benchmark, where the attribute of both models is known (`human` is
-- all annotators' rows together); `a` and `b` are its values
with known as (
    select
        model,
        attribute,
        amount
    from stg_models
    unpivot (amount for attribute in (llm_parameters_b, vision_encoder_parameters_b, training_loss))
    where benchmark = $benchmark
),

choices as (
    select
        case when choices.rater like 'human:%' then 'human' else choices.rater end as rater,
        choices.criterion,
        choices.item_id,
        coalesce(items.category, '') as category,
        choices.answer_a,
        choices.answer_b,
        choices.sample,
        choices.model_a,
        choices.model_b,
        choices.preference_b,
        choices.cluster
    from core_choices as choices
    inner join stg_items as items on choices.benchmark = items.benchmark and choices.item_id = items.item_id
    where choices.benchmark = $benchmark and choices.model_a <> choices.model_b
)

select
    choices.rater,
    choices.criterion,
    a.attribute,
    choices.category,
    choices.model_a,
    choices.model_b,
    a.amount as a,
    b.amount as b,
    choices.preference_b,
    cluster_key($benchmark, choices.cluster) as cluster_key
from choices
inner join known as a on choices.model_a = a.model
inner join known as b on choices.model_b = b.model and a.attribute = b.attribute
order by
    choices.rater,
    choices.criterion,
    a.attribute,
    choices.item_id,
    choices.answer_a,
    choices.answer_b,
    choices.sample,
    choices.preference_b
