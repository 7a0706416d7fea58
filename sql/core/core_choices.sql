-- grain: one row per rater x pair x criterion x sample: who was preferred; raters are recorded judges and `human:<annotator>`
with answers as (
    select * from core_answers
),

choices as (
    select
        benchmark,
        item_id,
        answer_a,
        answer_b,
        judge as rater,
        criterion,
        sample,
        shown_first,
        status,
        choice,
        coalesce(preference_b, case choice when 'a' then 0.0 when 'b' then 1.0 when 'tie' then 0.5 end) as preference_b
    from stg_recorded_duels
    union all by name
    select
        benchmark,
        item_id,
        answer_a,
        answer_b,
        'human:' || annotator as rater,
        criterion,
        0 as sample,
        shown_first,
        case when choice is null then 'missing' else 'ok' end as status,
        choice,
        case choice when 'a' then 0.0 when 'b' then 1.0 when 'tie' then 0.5 end as preference_b
    from stg_human_preferences
)

select
    choices.benchmark,
    choices.item_id,
    choices.answer_a,
    choices.answer_b,
    a.model as model_a,
    b.model as model_b,
    a.cluster,
    choices.rater,
    choices.criterion,
    choices.sample,
    choices.shown_first,
    choices.status,
    choices.choice,
    choices.preference_b
from choices
inner join answers as a
    on choices.benchmark = a.benchmark and choices.item_id = a.item_id and choices.answer_a = a.answer_id
inner join answers as b
    on choices.benchmark = b.benchmark and choices.item_id = b.item_id and choices.answer_b = b.answer_id
