-- grain: one row per benchmark x grader of 0 or 1 x criterion x model ('*' all): shares of items answered right in the long form, in the short
-- form, and in either (CHIRP's superscore, section 5.2.1), of the items answered in both; sample 0. The grader `human` is what all annotators
-- of an answer said, where they agree
with answers as (
    select
        benchmark,
        item_id,
        answer_id,
        model,
        style,
        sample,
        cluster
    from core_answers
    qualify count(distinct style) over (partition by benchmark, item_id, model, sample) > 1
),

people as (
    select
        benchmark,
        item_id,
        answer_id,
        'human' as judge,
        criterion,
        max(score_0_1) as score
    from stg_human_ratings
    group by benchmark, item_id, answer_id, criterion
    having min(score_0_1) = max(score_0_1)
),

grades as (
    select
        benchmark,
        item_id,
        answer_id,
        judge,
        criterion,
        score_0_1 as score
    from core_scores
    where status = 'ok' and sample = 0
    union all by name
    select * from people
),

graded as (
    select
        grades.benchmark,
        grades.judge,
        grades.criterion,
        answers.model,
        answers.item_id,
        answers.sample,
        any_value(answers.cluster) as cluster,
        bool_and(grades.score in (0, 1)) as is_binary,
        max(grades.score) filter (where answers.style = 'long') as long_form,
        max(grades.score) filter (where answers.style = 'short') as short_form
    from grades
    inner join answers
        on grades.benchmark = answers.benchmark and grades.item_id = answers.item_id and grades.answer_id = answers.answer_id
    group by grades.benchmark, grades.judge, grades.criterion, answers.model, answers.item_id, answers.sample
),

kept as (
    select * from graded
    where long_form is not null and short_form is not null
    qualify bool_and(is_binary) over (partition by benchmark, judge, criterion)
),

clusters as (
    select
        benchmark,
        judge,
        criterion,
        coalesce(model, '*') as model,
        cluster,
        count(*) as n,
        sum(long_form) as long_total,
        sum(short_form) as short_total,
        sum(greatest(long_form, short_form)) as either_total
    from kept
    group by grouping sets ((benchmark, judge, criterion, cluster), (benchmark, judge, criterion, cluster, model))
),

weighed as (
    select
        *,
        sum(n) over of_model as all_n
    from clusters
    window of_model as (partition by benchmark, judge, criterion, model)
),

shares as (
    select
        benchmark,
        judge,
        criterion,
        model,
        sum(n)::bigint as n,
        cluster_spread(n, long_total, all_n) as long,
        cluster_spread(n, short_total, all_n) as short,
        cluster_spread(n, either_total, all_n) as either
    from weighed
    group by benchmark, judge, criterion, model
),

ended as (
    select
        *,
        share_ends(long) as long_ends,
        share_ends(short) as short_ends,
        share_ends(either) as either_ends
    from shares
)

select
    benchmark,
    judge,
    criterion,
    model,
    n,
    long.n_clusters as n_clusters,
    long.mean as long,
    long_ends.low as long_low,
    long_ends.high as long_high,
    long_ends.reason as long_reason,
    short.mean as short,
    short_ends.low as short_low,
    short_ends.high as short_high,
    short_ends.reason as short_reason,
    either.mean as either,
    either_ends.low as either_low,
    either_ends.high as either_high,
    either_ends.reason as either_reason
from ended
order by benchmark, judge, criterion, model
