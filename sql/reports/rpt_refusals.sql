-- grain: one row per benchmark x judge x evaluated model ('*' all): how the cases about the model's answers ended where they did not end with
-- a verdict; a pair is a case of each of its models
with cases as (
    select
        scores.benchmark,
        scores.judge,
        scores.model as model_a,
        null as model_b,
        scores.status
    from core_scores as scores
    inner join core_judges as judges on scores.judge = judges.judge
    where judges.kind in ('judge', 'recorded')
    union all
    select
        benchmark,
        judge,
        model_a,
        model_b,
        status
    from core_duels
    union all
    select
        choices.benchmark,
        choices.rater as judge,
        choices.model_a,
        choices.model_b,
        choices.status
    from core_choices as choices
    inner join core_judges as judges on choices.rater = judges.judge
    where judges.kind = 'recorded'
),

counted as (
    select
        benchmark,
        judge,
        model_a,
        model_b,
        status,
        count(*) as n
    from cases
    group by benchmark, judge, model_a, model_b, status
),

by_model as (
    select
        benchmark,
        judge,
        unnest(list_distinct(['*', model_a, nullif(model_b, '(reference)')])) as model,
        status,
        n
    from counted
)

select
    benchmark,
    judge,
    model,
    sum(n)::bigint as n_cases,
    coalesce(sum(n) filter (where status = 'ok'), 0)::bigint as n_ok,
    coalesce(sum(n) filter (where status = 'refused'), 0)::bigint as n_refused,
    coalesce(sum(n) filter (where status = 'filtered'), 0)::bigint as n_filtered,
    coalesce(sum(n) filter (where status = 'truncated'), 0)::bigint as n_truncated,
    coalesce(sum(n) filter (where status = 'unparsed'), 0)::bigint as n_unparsed,
    coalesce(sum(n) filter (where status = 'failed'), 0)::bigint as n_failed,
    coalesce(sum(n) filter (where status = 'missing_image'), 0)::bigint as n_missing_image,
    coalesce(sum(n) filter (where status = 'not_asked'), 0)::bigint as n_not_asked,
    1 - n_ok / n_cases as share_without
from by_model
group by benchmark, judge, model
order by benchmark, judge, model
