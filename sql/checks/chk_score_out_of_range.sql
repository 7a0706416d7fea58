-- check: a score from 0 to 1 (of a pair: a choice and a share of the win) stands exactly where the status is ok, and no metric's is infinite
-- grain: one row per verdict, duel or metric score that is not so
select
    'verdicts' as table_name,
    judge_id,
    benchmark,
    item_id,
    criterion,
    status,
    score_0_1 as score,
    run_id
from raw_verdicts
where (status = 'ok' and (score_0_1 between 0 and 1) is not true) or (status <> 'ok' and score_0_1 is not null)
union all
select
    'duels' as table_name,
    judge_id,
    benchmark,
    item_id,
    criterion,
    status,
    preference_b as score,
    run_id
from raw_duels
where
    (status = 'ok' and (choice is null or (preference_b between 0 and 1) is not true))
    or (status <> 'ok' and (choice is not null or preference_b is not null))
union all
select
    'metric_scores' as table_name,
    judge_id,
    benchmark,
    item_id,
    'overall' as criterion,
    coalesce(reason, 'ok') as status,
    score,
    run_id
from raw_metric_scores
where not isfinite(score)
