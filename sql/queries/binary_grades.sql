-- grain: one row per grader x its criterion x human criterion x answer of one benchmark that both graded, sample 0; only graders whose scores
-- are all 0 or 1. `human_score` is what all annotators of the answer gave, null where they differ or one gave neither 0 nor 1
with scores as (
    select
        item_id,
        answer_id,
        cluster,
        judge,
        criterion,
        score_0_1
    from core_scores
    where benchmark = $benchmark and status = 'ok' and sample = 0
    qualify bool_and(score_0_1 in (0, 1)) over (partition by judge, criterion)
),

human as (
    select
        item_id,
        answer_id,
        criterion,
        case when min(score_0_1) = max(score_0_1) and max(score_0_1) in (0, 1) then max(score_0_1) end as human_score
    from stg_human_ratings
    where benchmark = $benchmark
    group by item_id, answer_id, criterion
)

select
    scores.judge,
    scores.criterion as judge_criterion,
    human.criterion as human_criterion,
    scores.score_0_1 as judge_score,
    human.human_score,
    cluster_key($benchmark, scores.cluster) as cluster_key
from scores
inner join human on scores.item_id = human.item_id and scores.answer_id = human.answer_id
order by scores.judge, scores.criterion, human.criterion, scores.item_id, scores.answer_id
