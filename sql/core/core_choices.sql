-- grain: one row per rater x pair x criterion x sample: who was preferred; raters are judges, recorded ones too, and `human:<annotator>`.
-- answer_a is the lesser answer_id. Where a rater saw both orders, orders that agree are one choice, orders that differ `inconsistent`:
-- no choice, and half a win each; where one of them has no verdict, the pair has none, and of two such statuses the first by name
with both_orders as (
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
        case when count(*) = 1 then any_value(shown_first) end as shown_first,
        case
            when count(*) filter (where status = 'ok') < count(*) then min(status) filter (where status <> 'ok')
            when count(distinct choice) > 1 then 'inconsistent'
            else 'ok'
        end as status,
        any_value(choice) as choice,
        round_mean(avg(preference_b)) as preference_b
    from core_ordered_choices
    group by benchmark, item_id, answer_a, answer_b, model_a, model_b, cluster, rater, criterion, sample
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
