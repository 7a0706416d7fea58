-- grain: one row per judge x judge criterion x human criterion x human rule x answer of one benchmark that both have scored
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

human as (
    select * from core_human
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
order by scores.judge, scores.judge_criterion, human.criterion, human.human_rule, scores.model, scores.item_id, scores.answer_id
