-- question: On which answers do the judges disagree most?
-- grain: one row per answer x criterion that several judges scored differently, the widest spread first
-- about: spread, lowest_judge, highest_judge, text
-- option benchmark: only this benchmark
-- option metrics = no: whether metrics are judges, too: no or yes
-- option n = 20: how many rows
with scores as (
    select
        benchmark,
        item_id,
        answer_id,
        case when judge like 'metric:%' then 'overall' else criterion end as criterion,
        judge,
        any_value(alias) as alias,
        round_mean(avg(score_0_1)) as score
    from core_scores
    where
        status = 'ok'
        and ($metrics = 'yes' or judge not like 'metric:%')
        and ($benchmark::varchar is null or benchmark = $benchmark)
    group by benchmark, item_id, answer_id, criterion, judge
),

spread as (
    select
        benchmark,
        item_id,
        answer_id,
        criterion,
        count(*) as n_judges,
        min(score) as lowest,
        arg_min(alias, row(score, alias)) as lowest_judge,
        max(score) as highest,
        arg_max(alias, row(score, alias)) as highest_judge
    from scores
    group by benchmark, item_id, answer_id, criterion
    having min(score) < max(score)
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
)

select
    spread.benchmark,
    spread.item_id,
    spread.answer_id,
    spread.criterion,
    spread.highest - spread.lowest as spread,
    spread.lowest,
    spread.lowest_judge,
    spread.highest,
    spread.highest_judge,
    spread.n_judges,
    people.score as people,
    answers.prompt,
    answers.references,
    answers.text
from spread
inner join core_answers as answers
    on spread.benchmark = answers.benchmark and spread.item_id = answers.item_id and spread.answer_id = answers.answer_id
left join people on spread.benchmark = people.benchmark and spread.item_id = people.item_id and spread.answer_id = people.answer_id
order by spread.highest - spread.lowest desc, spread.benchmark asc, spread.item_id asc, spread.answer_id asc, spread.criterion asc
limit $n::bigint
