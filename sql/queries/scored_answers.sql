-- grain: one row per criterion x answer of one benchmark that $judge (its name in reports, or its alias) scored: the sum and the number of its
-- samples' scores
select
    criterion,
    item_id,
    answer_id,
    any_value(model) as model,
    any_value(cluster) as cluster,
    sum(score_0_1) as total,
    count(score_0_1) as n
from core_scores
where benchmark = $benchmark and $judge in (judge, alias) and status = 'ok' and score_0_1 is not null
group by criterion, item_id, answer_id
order by criterion, item_id, answer_id
