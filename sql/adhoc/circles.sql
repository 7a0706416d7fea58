-- question: On which questions does a rater prefer A to B, B to C and yet C to A?
-- grain: one row per question x rater x criterion x circle of three models, each preferred to the next and the last to the first
-- about: rater, first_model, second_model, third_model
-- option benchmark: only this benchmark
-- option rater: only this rater, a judge by alias or `human:<annotator>`
-- option n = 50: how many rows
with preferred as (
    select distinct
        choices.benchmark,
        choices.item_id,
        choices.rater,
        coalesce(names.alias, choices.rater) as alias,
        choices.criterion,
        case choices.choice when 'a' then choices.model_a else choices.model_b end as winner,
        case choices.choice when 'a' then choices.model_b else choices.model_a end as loser
    from core_choices as choices
    left join core_judge_names as names on choices.rater = names.judge
    where
        choices.status = 'ok'
        and choices.choice in ('a', 'b')
        and ($benchmark::varchar is null or choices.benchmark = $benchmark)
        and ($rater::varchar is null or coalesce(names.alias, choices.rater) = $rater)
)

select
    one.benchmark,
    one.item_id,
    one.alias as rater,
    one.criterion,
    one.winner as first_model,
    two.winner as second_model,
    three.winner as third_model
from preferred as one
inner join preferred as two
    on
        one.benchmark = two.benchmark
        and one.item_id = two.item_id
        and one.rater = two.rater
        and one.criterion = two.criterion
        and one.loser = two.winner
inner join preferred as three
    on
        two.benchmark = three.benchmark
        and two.item_id = three.item_id
        and two.rater = three.rater
        and two.criterion = three.criterion
        and two.loser = three.winner
        and one.winner = three.loser
-- each circle once, from its first model by name
where one.winner < two.winner and one.winner < three.winner
order by one.benchmark, one.item_id, one.rater, one.criterion, first_model, second_model
limit $n::integer
