-- grain: one row per human criterion x rule x answer of one benchmark; rule `each` has a row for every annotator of an answer, and only
-- answers that more than one annotator rated
with each_rating as (
    select
        item_id,
        answer_id,
        criterion,
        annotator,
        score_0_1
    from stg_human_ratings
    where benchmark = $benchmark
    qualify count(*) over (partition by item_id, answer_id, criterion) > 1
),

targets as (
    select
        criterion,
        human_rule,
        item_id,
        answer_id,
        null as annotator,
        score_0_1
    from core_human
    where benchmark = $benchmark
    union all
    select
        criterion,
        'each' as human_rule,
        item_id,
        answer_id,
        annotator,
        score_0_1
    from each_rating
)

select
    criterion,
    human_rule,
    item_id,
    answer_id,
    annotator,
    score_0_1
from targets
order by criterion, human_rule, item_id, answer_id, annotator
