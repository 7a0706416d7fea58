-- question: Where do a judge and people differ most, and which pictures are that?
-- grain: one row per answer x judge x its criterion x people's criterion, both scores from 0 to 1, the largest difference first
-- about: item_id, model, judge, difference
-- option benchmark: only this benchmark
-- option judge: only this judge or metric, by alias
-- option metrics = no: whether metrics are judges, too: no or yes
-- option n = 20: how many rows
with said as (
    select
        benchmark,
        item_id,
        answer_id,
        judge,
        criterion,
        any_value(alias) as alias,
        any_value(rationale order by sample) as rationale
    from core_scores
    where
        status = 'ok'
        and ($metrics = 'yes' or $judge::varchar is not null or judge not like 'metric:%')
        and ($judge::varchar is null or alias = $judge)
        and ($benchmark::varchar is null or benchmark = $benchmark)
    group by benchmark, item_id, answer_id, judge, criterion
)

select
    scores.benchmark,
    scores.item_id,
    scores.model,
    said.alias as judge,
    scores.judge_criterion,
    scores.human_criterion,
    answers.prompt,
    answers.text,
    said.rationale,
    list_transform(answers.images, lambda image: image['uri']) as images,
    scores.judge_score,
    scores.human_score,
    scores.judge_score - scores.human_score as difference
from core_rated_scores as scores
inner join said
    on
        scores.benchmark = said.benchmark
        and scores.item_id = said.item_id
        and scores.answer_id = said.answer_id
        and scores.judge = said.judge
        and scores.judge_criterion = said.criterion
inner join core_answers as answers
    on scores.benchmark = answers.benchmark and scores.item_id = answers.item_id and scores.answer_id = answers.answer_id
where scores.judge_score <> scores.human_score
order by
    abs(scores.judge_score - scores.human_score) desc, scores.benchmark asc, scores.item_id asc, scores.answer_id asc, judge asc,
    scores.judge_criterion asc, scores.human_criterion asc
limit $n::bigint
