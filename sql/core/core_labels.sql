-- grain: one row per rater x answer or pair x criterion x sample that has a label; what agreement is counted over. A label is a
-- score, `score_0_1` as text, or a `choice`
select
    benchmark,
    item_id,
    answer_id as subject,
    criterion,
    judge as rater,
    sample,
    score_0_1::varchar as label,
    score_0_1,
    null as choice
from core_scores
where status = 'ok' and judge not like 'metric:%'
union all
select
    benchmark,
    item_id,
    answer_id as subject,
    criterion,
    'human:' || annotator as rater,
    0 as sample,
    score_0_1::varchar as label,
    score_0_1,
    null as choice
from stg_human_ratings
union all
select
    benchmark,
    item_id,
    answer_a || ' / ' || answer_b as subject,
    criterion,
    rater,
    sample,
    choice as label,
    null as score_0_1,
    choice
from core_choices
where status = 'ok'
