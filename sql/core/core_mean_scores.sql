-- grain: one row per benchmark x model ('*' all pooled) x judge or metric: the mean of its 0-1 scores and the mean's standard error, which is
-- cluster-robust (sandwich), clusters being images or items; of an answer's criteria and samples the mean counts. Kept for rpt_metrics
with scores as (
    select * from core_scores
),

answers as (
    select
        benchmark,
        model,
        cluster,
        judge_id,
        reading,
        item_id,
        answer_id,
        avg(score_0_1) as score
    from scores
    group by benchmark, model, cluster, judge_id, reading, item_id, answer_id
),

clusters as (
    select
        benchmark,
        case when grouping(model) = 1 then '*' else model end as model,
        judge_id,
        reading,
        cluster,
        count(score) as n,
        count(*) - count(score) as n_missing,
        coalesce(sum(score), 0) as total
    from answers
    group by grouping sets ((benchmark, model, judge_id, reading, cluster), (benchmark, judge_id, reading, cluster))
),

means as (
    select
        *,
        sum(total) over per_mean / nullif(sum(n) over per_mean, 0) as mean
    from clusters
    window per_mean as (partition by benchmark, model, judge_id, reading)
),

spread as (
    select
        benchmark,
        model,
        judge_id,
        reading,
        sum(n)::bigint as n,
        sum(n_missing)::bigint as n_missing,
        any_value(mean) as mean,
        count(*) filter (where n > 0) as n_clusters,
        sqrt(sum(power(total - n * mean, 2))) / nullif(sum(n), 0) as raw_error
    from means
    group by benchmark, model, judge_id, reading
)

select
    *,
    case when n_clusters > 1 then raw_error * sqrt(n_clusters / (n_clusters - 1)) end as standard_error
from spread
