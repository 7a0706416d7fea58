-- grain: one row per rater x pair x criterion x sample: who was preferred; raters are judges, recorded ones too, and `human:<annotator>`.
-- answer_a is the lesser answer_id. Where a judge saw both orders, orders that agree are one choice, orders that differ `inconsistent`:
-- no choice, and half a win each; where one of them has no verdict, the pair has none
with answers as (
    select * from core_answers
),

both_orders as (
    select
        benchmark,
        item_id,
        answer_a,
        answer_b,
        model_a,
        model_b,
        cluster,
        judge as rater,
        criterion,
        sample,
        case when count(*) = 1 then any_value(shown_first) end as shown_first,
        case
            when count(*) filter (where status = 'ok') < count(*) then any_value(status) filter (where status <> 'ok')
            when count(distinct choice) > 1 then 'inconsistent'
            else 'ok'
        end as status,
        any_value(choice) as choice,
        round_mean(avg(preference_b)) as preference_b
    from core_duels
    group by benchmark, item_id, answer_a, answer_b, model_a, model_b, cluster, rater, criterion, sample
),

outside as (
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
),

in_order as (
    select
        benchmark,
        item_id,
        least(answer_a, answer_b) as answer_a,
        greatest(answer_a, answer_b) as answer_b,
        rater,
        criterion,
        sample,
        case when answer_a < answer_b or shown_first is null then shown_first when shown_first = 'a' then 'b' else 'a' end as shown_first,
        status,
        case
            when answer_a < answer_b then choice else case choice when 'a' then 'b' when 'b' then 'a' else choice end
        end as choice,
        case when answer_a < answer_b then preference_b else 1 - preference_b end as preference_b
    from outside
)

select
    benchmark,
    item_id,
    answer_a,
    answer_b,
    model_a,
    model_b,
    cluster,
    rater,
    criterion,
    sample,
    shown_first,
    status,
    case when status = 'ok' then choice end as choice,
    case when status = 'ok' then preference_b when status = 'inconsistent' then 0.5 end as preference_b
from both_orders
union all by name
select
    in_order.benchmark,
    in_order.item_id,
    in_order.answer_a,
    in_order.answer_b,
    a.model as model_a,
    b.model as model_b,
    a.cluster,
    in_order.rater,
    in_order.criterion,
    in_order.sample,
    in_order.shown_first,
    in_order.status,
    in_order.choice,
    in_order.preference_b
from in_order
inner join answers as a
    on in_order.benchmark = a.benchmark and in_order.item_id = a.item_id and in_order.answer_a = a.answer_id
inner join answers as b
    on in_order.benchmark = b.benchmark and in_order.item_id = b.item_id and in_order.answer_b = b.answer_id
