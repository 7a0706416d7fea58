-- question: Which answer of each item does a judge put first, and what do people say of it?
-- grain: one row per item x judge x criterion with two scored answers or more; people's regret is what they gave their best one more
-- about: item_id, judge, best, regret
-- option benchmark: only this benchmark
-- option judge: only this judge or metric, by alias
-- option n = 50: how many rows, the largest regret first
with scores as (
    select
        benchmark,
        item_id,
        answer_id,
        model,
        judge,
        any_value(alias) as alias,
        criterion,
        round_mean(avg(score_0_1)) as score
    from core_scores
    where
        status = 'ok'
        and ($benchmark::varchar is null or benchmark = $benchmark)
        and ($judge::varchar is null or alias = $judge)
    group by benchmark, item_id, answer_id, model, judge, criterion
),

people as (
    select
        benchmark,
        item_id,
        answer_id,
        round_mean(avg(score_0_1)) as score
    from core_human
    where human_rule = 'mean'
    group by benchmark, item_id, answer_id
),

ranked as (
    select
        scores.*,
        people.score as people,
        rank() over (
            partition by scores.benchmark, scores.item_id, scores.judge, scores.criterion
            order by scores.score desc
        ) as place
    from scores
    left join people
        on scores.benchmark = people.benchmark and scores.item_id = people.item_id and scores.answer_id = people.answer_id
)

select
    benchmark,
    item_id,
    any_value(alias) as judge,
    criterion,
    count(*) as n_answers,
    max(score) as score,
    list(model order by model, answer_id) filter (where place = 1) as best,
    avg(people) filter (where place = 1) as people_of_best,
    max(people) as people_at_most,
    max(people) - avg(people) filter (where place = 1) as regret
from ranked
group by benchmark, item_id, ranked.judge, criterion
having count(*) > 1
order by regret desc nulls last, benchmark asc, item_id asc, judge asc, criterion asc
limit $n::bigint
