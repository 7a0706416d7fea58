-- grain: one row per rater x answer or pair x criterion of one benchmark that has a label, sample 0: kind `score` or `choice`. A choice's
-- label is 0 for a, 1 for b, 2 for a tie, 3 for inconsistent, and so it is where a rater's rows of one pair differ; models are null for scores.
-- Raters who give more than 21 different scores are left out, for they hardly ever give two answers the same, and those alone on a criterion.
-- A judge of likelihood (criterion `likelihood`) also chooses: the likelier answer of each pair that others chose between, under each of their
-- criteria (CHIRP, C.2.7). `is_control`: a judge that is shown no image, or another one; `span`: that of its scale (core_rater_scales), null for
-- choices; `unit_code` is unique within a `scale_code`, that is a kind and criterion. `style` of a pair is null where its answers differ in it
with controls as (
    select judge
    from core_judges
    where regexp_matches(signature, '\|image:(absent|swapped)')
),

choices as (
    select
        item_id,
        answer_a,
        answer_b,
        model_a,
        model_b,
        criterion,
        rater,
        status,
        choice,
        cluster
    from core_choices
    where benchmark = $benchmark and status in ('ok', 'inconsistent') and sample = 0
),

compared as materialized (
    select
        item_id,
        answer_a,
        answer_b,
        criterion,
        any_value(model_a) as model_a,
        any_value(model_b) as model_b,
        any_value(cluster) as cluster
    from choices
    group by item_id, answer_a, answer_b, criterion
),

likelihoods as materialized (
    select
        item_id,
        answer_id,
        judge,
        rating
    from core_scores
    where benchmark = $benchmark and criterion = 'likelihood' and status = 'ok' and sample = 0
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
    from choices
    union all by name
    select
        'choice' as kind,
        compared.item_id,
        compared.answer_a || ' / ' || compared.answer_b as subject,
        compared.model_a,
        compared.model_b,
        compared.criterion,
        a.judge as rater,
        case when a.rating > b.rating then 0.0 when a.rating < b.rating then 1.0 else 2.0 end as label,
        compared.cluster
    from compared
    inner join likelihoods as a on compared.item_id = a.item_id and compared.answer_a = a.answer_id
    inner join likelihoods as b on compared.item_id = b.item_id and compared.answer_b = b.answer_id and a.judge = b.judge
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
        raters.rater in (select judge from controls)
        or (raters.kind = 'choice' and raters.rater in (select judge from likelihoods)) as is_control,
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

answer_styles as (
    select
        item_id,
        answer_id,
        coalesce(style, '(none)') as style
    from stg_answers
    where benchmark = $benchmark
),

-- beside the item's reference, which is no answer, an answer's style is that of the pair
styles as (
    select
        a.item_id,
        a.answer_id as subject,
        false as is_pair,
        a.style
    from answer_styles as a
    union all by name
    select
        a.item_id,
        compared.answer_a || ' / ' || compared.answer_b as subject,
        true as is_pair,
        any_value(case when b.style is null or a.style = b.style then a.style end) as style
    from compared
    inner join answer_styles as a on compared.item_id = a.item_id and compared.answer_a = a.answer_id
    left join answer_styles as b on compared.item_id = b.item_id and compared.answer_b = b.answer_id
    group by a.item_id, compared.answer_a, compared.answer_b
),

units as materialized (
    select
        subjects.*,
        clusters.cluster_key,
        items.task,
        coalesce(items.category, '(none)') as category,
        styles.style,
        row_number() over (partition by subjects.scale_code order by subjects.item_id, subjects.subject) - 1 as unit_code
    from subjects
    inner join clusters on subjects.cluster = clusters.cluster
    inner join stg_items as items on items.benchmark = $benchmark and subjects.item_id = items.item_id
    left join styles
        on
            subjects.item_id = styles.item_id
            and subjects.subject = styles.subject
            and styles.is_pair = (subjects.model_a is not null)
),

once as (
    select
        kept.rater_code,
        units.scale_code,
        units.unit_code,
        avg(kept.label) as mean_label,
        min(kept.label) as least_label,
        max(kept.label) as largest_label
    from kept
    inner join units on kept.scale_code = units.scale_code and kept.item_id = units.item_id and kept.subject = units.subject
    group by kept.rater_code, units.scale_code, units.unit_code
)

select
    numbered.kind,
    numbered.criterion,
    numbered.rater,
    numbered.is_control,
    numbered.span,
    units.task,
    units.category,
    units.style,
    units.model_a,
    units.model_b,
    case when numbered.kind = 'score' then mean_label when least_label = largest_label then least_label else 3.0 end as label,
    once.scale_code,
    once.unit_code,
    units.cluster_key
from once
inner join numbered on once.rater_code = numbered.rater_code
inner join units on once.scale_code = units.scale_code and once.unit_code = units.unit_code
order by once.rater_code, once.unit_code
