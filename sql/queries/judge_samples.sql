-- grain: one row per judge x criterion x sample x answer of one benchmark that was wanted (`score` null where there is none); $against
-- human keeps the answers that people rated
select
    scores.judge,
    any_value(scores.alias) as alias,
    any_value(judges.kind) as kind,
    scores.criterion,
    scores.sample,
    scores.item_id,
    scores.answer_id,
    scores.model,
    scores.cluster,
    avg(scores.score_0_1) filter (where scores.status = 'ok') as score
from core_scores as scores
inner join core_judges as judges on scores.judge_id = judges.judge_id and scores.reading = judges.reading
where
    scores.benchmark = $benchmark
    and (
        $against <> 'human'
        or (scores.item_id, scores.answer_id) in (select (item_id, answer_id) from core_human where benchmark = $benchmark)
    )
group by scores.judge, scores.criterion, scores.sample, scores.item_id, scores.answer_id, scores.model, scores.cluster
order by scores.judge, scores.criterion, scores.sample, scores.item_id, scores.answer_id
