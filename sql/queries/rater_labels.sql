-- grain: one row per rater x answer or pair x criterion of one benchmark that has a label, sample 0: kind `score` or `choice`. A choice's
-- label is 0 for a, 1 for b, 2 for a tie, 3 for inconsistent, and so it is where a rater's rows of one pair differ; models are null for scores.
-- Raters who give more than 21 different scores are left out, for they hardly ever give two answers the same, and those alone on a criterion.
-- `is_control`: a judge that is shown no image, or another one; `span`: that of its scale (core_rater_scales), null for choices
with controls as (
    select judge
    from core_judges
    where regexp_matches(signature, '\|image:(absent|swapped)')
),

labels as not materialized (
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

-- one cheap pass leaves out most: an estimate is some percent off, and 1,000 is far from 21
few_labels as (
    select
        kind,
        criterion,
        rater
    from labels
    group by kind, criterion, rater
    having approx_count_distinct(label) < 1000
    qualify count(*) over (partition by kind, criterion) > 1
),

raters as (
    select
        labels.kind,
        labels.criterion,
        labels.rater
    from labels
    semi join few_labels on labels.kind = few_labels.kind and labels.criterion = few_labels.criterion and labels.rater = few_labels.rater
    group by labels.kind, labels.criterion, labels.rater
    having count(distinct labels.label) <= 21
    qualify count(*) over (partition by labels.kind, labels.criterion) > 1
),

-- strings are joined and sorted here and where units are numbered; from then on codes stand for them
numbered as (
    select
        raters.kind,
        raters.criterion,
        raters.rater,
        scales.span,
        raters.rater in (select judge from controls) as is_control,
        row_number() over (order by raters.kind, raters.criterion, raters.rater) as rater_code,
        dense_rank() over (order by raters.kind, raters.criterion) as scale_code
    from raters
    left join core_rater_scales as scales
        on scales.benchmark = $benchmark and raters.kind = 'score' and raters.criterion = scales.criterion and raters.rater = scales.rater
),

kept as materialized (
    select
        numbered.rater_code,
        numbered.scale_code,
        labels.item_id,
        labels.subject,
        labels.model_a,
        labels.model_b,
        labels.cluster,
        labels.label
    from labels
    inner join numbered on labels.kind = numbered.kind and labels.criterion = numbered.criterion and labels.rater = numbered.rater
),

subjects as (
    select
        scale_code,
        item_id,
        subject,
        any_value(model_a) as model_a,
        any_value(model_b) as model_b,
        any_value(cluster) as cluster
    from kept
    group by scale_code, item_id, subject
),

clusters as (
    select
        cluster,
        cluster_key($benchmark, cluster) as cluster_key
    from subjects
    group by cluster
),

units as (
    select
        subjects.*,
        clusters.cluster_key,
        row_number() over (partition by subjects.scale_code order by subjects.item_id, subjects.subject) - 1 as unit_code
    from subjects
    inner join clusters on subjects.cluster = clusters.cluster
),

once as (
    select
        kept.rater_code,
        units.unit_code,
        any_value(units.cluster_key) as cluster_key,
        any_value(units.model_a) as model_a,
        any_value(units.model_b) as model_b,
        avg(kept.label) as mean_label,
        min(kept.label) as least_label,
        max(kept.label) as largest_label
    from kept
    inner join units on kept.scale_code = units.scale_code and kept.item_id = units.item_id and kept.subject = units.subject
    group by kept.rater_code, units.unit_code
)

select
    numbered.kind,
    numbered.criterion,
    numbered.rater,
    numbered.is_control,
    numbered.span,
    once.model_a,
    once.model_b,
    case when numbered.kind = 'score' then mean_label when least_label = largest_label then least_label else 3.0 end as label,
    once.unit_code,
    once.cluster_key
from once
inner join numbered on once.rater_code = numbered.rater_code
order by once.rater_code, once.unit_code
