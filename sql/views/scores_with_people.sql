-- grain: one row per answer x judge or metric x its criterion x people's criterion: the judge's score beside people's, 0 to 1. `judge` is null
-- where the judge has no score yet or none that can be read, so that what is missing is counted. Samples are averaged, and people's ratings by
-- each rule: `human` is their mean. A judge's criterion stands beside people's of the same name, and where a benchmark has none of that name
-- beside each of theirs
with people as (
    select
        benchmark,
        item_id,
        answer_id,
        criterion as human_criterion,
        max(score_0_1) filter (where human_rule = 'mean') as human,
        max(score_0_1) filter (where human_rule = 'median') as human_median,
        max(score_0_1) filter (where human_rule = 'majority') as human_majority,
        max(score_0_1) filter (where human_rule = 'lave') as human_lave,
        max(n_annotators) as n_annotators
    from core_human
    group by benchmark, item_id, answer_id, criterion
),

scores as (
    select
        benchmark,
        item_id,
        answer_id,
        judge as judge_name,
        any_value(alias) as alias,
        criterion,
        round_mean(avg(score_0_1) filter (where status = 'ok')) as score,
        count(*) as n_wanted,
        count(*) filter (where status = 'ok') as n_scored,
        min(status) filter (where status <> 'ok') as missing_because
    from core_scores
    group by benchmark, item_id, answer_id, judge, criterion
),

rated as (
    select distinct
        benchmark,
        human_criterion
    from people
),

judged as (
    select distinct
        benchmark,
        criterion
    from scores
),

compared as (
    select
        judged.benchmark,
        judged.criterion,
        rated.human_criterion
    from judged
    inner join rated on judged.benchmark = rated.benchmark
    qualify
        judged.criterion = rated.human_criterion
        or not bool_or(judged.criterion = rated.human_criterion) over (partition by judged.benchmark, judged.criterion)
)

select
    scores.benchmark,
    scores.judge_name,
    scores.alias,
    scores.criterion,
    people.human_criterion,
    scores.score as judge,
    people.human,
    answers.model,
    models.family,
    models.llm_parameters_b,
    models.vision_encoder_parameters_b,
    answers.task,
    answers.category,
    answers.split,
    answers.style,
    answers.sample,
    length(answers.text) as answer_characters,
    array_length(regexp_extract_all(answers.text, '\S+')) as answer_words,
    people.human_median,
    people.human_majority,
    people.human_lave,
    people.n_annotators,
    scores.n_wanted,
    scores.n_scored,
    scores.missing_because,
    scores.item_id,
    scores.answer_id,
    scores.benchmark || '/' || answers.cluster as cluster
from scores
inner join compared on scores.benchmark = compared.benchmark and scores.criterion = compared.criterion
inner join people
    on
        scores.benchmark = people.benchmark
        and scores.item_id = people.item_id
        and scores.answer_id = people.answer_id
        and compared.human_criterion = people.human_criterion
inner join core_answers as answers
    on scores.benchmark = answers.benchmark and scores.item_id = answers.item_id and scores.answer_id = answers.answer_id
left join stg_models as models on answers.benchmark = models.benchmark and answers.model = models.model
