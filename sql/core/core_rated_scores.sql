-- grain: one row per answer x judge or metric x its criterion x human criterion that scored the same answer, samples and annotators averaged.
-- A judge's criterion is compared with people's of the same name, and where a benchmark has none of that name with each of theirs
with people as (
    select
        benchmark,
        item_id,
        answer_id,
        criterion as human_criterion,
        score_0_1 as human_score
    from core_human
    where human_rule = 'mean'
),

scores as (
    select
        core_scores.benchmark,
        core_scores.item_id,
        core_scores.answer_id,
        core_scores.model,
        core_scores.cluster,
        core_scores.judge,
        core_scores.criterion as judge_criterion,
        round_mean(avg(core_scores.score_0_1)) as judge_score
    from core_scores
    semi join people
        on
            core_scores.benchmark = people.benchmark
            and core_scores.item_id = people.item_id
            and core_scores.answer_id = people.answer_id
    where core_scores.status = 'ok'
    group by
        core_scores.benchmark,
        core_scores.item_id,
        core_scores.answer_id,
        core_scores.model,
        core_scores.cluster,
        core_scores.judge,
        core_scores.criterion
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
        judge_criterion
    from scores
),

compared as (
    select
        judged.benchmark,
        judged.judge_criterion,
        rated.human_criterion
    from judged
    inner join rated on judged.benchmark = rated.benchmark
    qualify
        judged.judge_criterion = rated.human_criterion
        or not bool_or(judged.judge_criterion = rated.human_criterion) over (partition by judged.benchmark, judged.judge_criterion)
)

select
    scores.benchmark,
    scores.item_id,
    scores.answer_id,
    scores.model,
    scores.cluster,
    scores.judge,
    scores.judge_criterion,
    people.human_criterion,
    scores.judge_score,
    people.human_score
from scores
inner join compared on scores.benchmark = compared.benchmark and scores.judge_criterion = compared.judge_criterion
inner join people
    on
        scores.benchmark = people.benchmark
        and scores.item_id = people.item_id
        and scores.answer_id = people.answer_id
        and compared.human_criterion = people.human_criterion
