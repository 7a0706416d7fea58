-- question: Where does a judge score an answer higher than the one that people chose as the best of several?
-- grain: one row per choice x judge x criterion with such an answer, the largest difference first
-- about: item_id, judge, chosen, preferred
-- option benchmark: only this benchmark
-- option judge: only this judge or metric, by alias
-- option n = 50: how many rows
with choices as (
    select
        benchmark,
        item_id,
        choice_set,
        criterion as human_criterion,
        annotator,
        chosen,
        unnest(answers) as answer_id
    from stg_choice_sets
    where chosen is not null and ($benchmark::varchar is null or benchmark = $benchmark)
),

scores as (
    select
        benchmark,
        item_id,
        answer_id,
        alias as judge,
        criterion,
        round_mean(avg(score_0_1)) as score
    from core_scores
    where status = 'ok' and ($judge::varchar is null or alias = $judge)
    group by benchmark, item_id, answer_id, alias, criterion
)

select
    choices.benchmark,
    choices.item_id,
    choices.choice_set,
    choices.human_criterion,
    choices.annotator,
    scores.judge,
    scores.criterion,
    choices.chosen,
    any_value(scores.score) filter (where choices.answer_id = choices.chosen) as score_of_chosen,
    arg_max(choices.answer_id, scores.score) as preferred,
    max(scores.score) as score_of_preferred
from choices
inner join scores
    on choices.benchmark = scores.benchmark and choices.item_id = scores.item_id and choices.answer_id = scores.answer_id
group by
    choices.benchmark, choices.item_id, choices.choice_set, choices.human_criterion, choices.annotator, scores.judge, scores.criterion,
    choices.chosen
having score_of_preferred > score_of_chosen
order by
    score_of_chosen - score_of_preferred,
    choices.benchmark,
    choices.item_id,
    choices.choice_set,
    choices.annotator,
    scores.judge,
    scores.criterion
limit $n::integer
