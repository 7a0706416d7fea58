-- grain: one row per rater x answer or pair x criterion of one benchmark that has a label, sample 0: kind `score` or `choice`. A choice's
-- label is 0 for a, 1 for b, 2 for a tie, 3 for inconsistent, and so it is where a rater's rows of one pair differ; models are null for scores.
-- Raters who give more than 21 different scores are left out, for they hardly ever give two answers the same, and those alone on a criterion.
-- `is_control`: a judge that is shown no image, or another one
with controls as (
    select judge
    from core_judges
    where regexp_extract(signature, '\|image:([^|]*)', 1) in ('absent', 'swapped')
),

labels as (
    select
        'score' as kind,
        item_id,
        answer_id as subject,
        null as model_a,
        null as model_b,
        criterion,
        judge as rater,
        score_0_1 as label,
        cluster
    from core_scores
    where benchmark = $benchmark and status = 'ok' and sample = 0 and judge not like 'metric:%'
    union all by name
    select
        'score' as kind,
        ratings.item_id,
        ratings.answer_id as subject,
        ratings.criterion,
        'human:' || ratings.annotator as rater,
        ratings.score_0_1 as label,
        answers.cluster
    from stg_human_ratings as ratings
    inner join core_answers as answers
        on ratings.benchmark = answers.benchmark and ratings.item_id = answers.item_id and ratings.answer_id = answers.answer_id
    where ratings.benchmark = $benchmark
    union all by name
    select
        'choice' as kind,
        item_id,
        answer_a || ' / ' || answer_b as subject,
        model_a,
        model_b,
        criterion,
        rater,
        case when status = 'inconsistent' then 3.0 when choice = 'a' then 0.0 when choice = 'b' then 1.0 else 2.0 end as label,
        cluster
    from core_choices
    where benchmark = $benchmark and status in ('ok', 'inconsistent') and sample = 0
),

raters as (
    select
        kind,
        criterion,
        rater
    from labels
    group by kind, criterion, rater
    having count(distinct label) <= 21
    qualify count(*) over (partition by kind, criterion) > 1
),

once as (
    select
        labels.kind,
        labels.item_id,
        labels.subject,
        labels.criterion,
        labels.rater,
        any_value(labels.model_a) as model_a,
        any_value(labels.model_b) as model_b,
        any_value(labels.cluster) as cluster,
        case when labels.kind = 'score' then avg(label) when count(distinct label) = 1 then any_value(label) else 3.0 end as label
    from labels
    semi join raters on labels.kind = raters.kind and labels.criterion = raters.criterion and labels.rater = raters.rater
    group by labels.kind, labels.item_id, labels.subject, labels.criterion, labels.rater
)

select
    kind,
    criterion,
    rater,
    rater in (select judge from controls) as is_control,
    model_a,
    model_b,
    label,
    dense_rank() over (partition by kind, criterion order by item_id, subject) - 1 as unit_code,
    dense_rank() over (order by cluster) - 1 as cluster_code
from once
order by kind, criterion, rater, item_id, subject
