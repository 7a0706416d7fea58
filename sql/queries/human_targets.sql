-- grain: one row per human criterion x rule x answer of one benchmark; rule `each` has a row for every annotator of an answer, and only
-- answers that more than one annotator rated; `annotator:<name>` is one annotator, of a few who rated enough
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

few as (
    select criterion
    from stg_human_ratings
    where benchmark = $benchmark
    group by criterion
    having count(distinct annotator) between 2 and $most_annotators
),

annotators as (
    select
        ratings.criterion,
        ratings.annotator
    from stg_human_ratings as ratings
    inner join few on ratings.criterion = few.criterion
    where ratings.benchmark = $benchmark
    group by ratings.criterion, ratings.annotator
    having count(*) >= $least_rated
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
    union all
    select
        ratings.criterion,
        'annotator:' || ratings.annotator as human_rule,
        ratings.item_id,
        ratings.answer_id,
        ratings.annotator,
        ratings.score_0_1
    from stg_human_ratings as ratings
    inner join annotators on ratings.criterion = annotators.criterion and ratings.annotator = annotators.annotator
    where ratings.benchmark = $benchmark
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
