-- question: Which items does every model fail?
-- grain: one row per item x judge x criterion where the answers of two models or more all have a score, and none a higher one than at_most
-- about: item_id, judge, highest, answers
-- option benchmark: only this benchmark
-- option judge: only this judge or metric, by alias
-- option at_most = 0: the highest score that is a failure
-- option n = 50: how many rows, those that most models fail first
with failed as (
    select
        benchmark,
        item_id,
        any_value(alias) as judge,
        criterion,
        count(distinct model) as n_models,
        max(score_0_1) as highest
    from core_scores
    where ($benchmark::varchar is null or benchmark = $benchmark) and ($judge::varchar is null or alias = $judge)
    group by benchmark, item_id, judge, criterion
    having count(distinct model) > 1 and bool_and(status = 'ok') and max(score_0_1) <= $at_most::double
),

people as (
    select
        benchmark,
        item_id,
        max(score_0_1) as highest
    from core_human
    where human_rule = 'mean'
    group by benchmark, item_id
),

items as (
    select
        benchmark,
        item_id,
        any_value(prompt) as prompt,
        any_value("references") as "references",
        list(model || ': ' || text order by model, answer_id) as answers
    from core_answers
    group by benchmark, item_id
)

select
    failed.benchmark,
    failed.item_id,
    failed.judge,
    failed.criterion,
    failed.n_models,
    failed.highest,
    people.highest as highest_of_people,
    items.prompt,
    items.references,
    items.answers
from failed
inner join items on failed.benchmark = items.benchmark and failed.item_id = items.item_id
left join people on failed.benchmark = people.benchmark and failed.item_id = people.item_id
order by failed.n_models desc, failed.benchmark asc, failed.item_id asc, failed.judge asc, failed.criterion asc
limit $n::bigint
