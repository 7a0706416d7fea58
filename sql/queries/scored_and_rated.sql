-- grain: one row per judge x judge criterion x human criterion x human rule x answer of one benchmark that both have scored; human
-- rule `each` has a row for every annotator of an answer, and only answers that more than one annotator rated
with scores as (
    select
        benchmark,
        item_id,
        answer_id,
        model,
        cluster,
        judge,
        criterion as judge_criterion,
        avg(score_0_1) as judge_score
    from core_scores
    where benchmark = $benchmark and status = 'ok'
    group by benchmark, item_id, answer_id, model, cluster, judge, criterion
),

each_rating as (
    select
        benchmark,
        item_id,
        answer_id,
        criterion,
        annotator,
        score_0_1
    from stg_human_ratings
    where benchmark = $benchmark
    qualify count(*) over (partition by item_id, answer_id, criterion) > 1
),

human as (
    select
        benchmark,
        item_id,
        answer_id,
        criterion,
        human_rule,
        null as annotator,
        score_0_1
    from core_human
    union all
    select
        benchmark,
        item_id,
        answer_id,
        criterion,
        'each' as human_rule,
        annotator,
        score_0_1
    from each_rating
)

select
    scores.judge,
    scores.judge_criterion,
    human.criterion as human_criterion,
    human.human_rule,
    scores.model,
    scores.judge_score,
    human.score_0_1 as human_score,
    dense_rank() over (order by scores.cluster) - 1 as cluster_code
from scores
inner join human
    on
        scores.benchmark = human.benchmark
        and scores.item_id = human.item_id
        and scores.answer_id = human.answer_id
order by
    scores.judge,
    scores.judge_criterion,
    human.criterion,
    human.human_rule,
    scores.model,
    scores.item_id,
    scores.answer_id,
    human.annotator
