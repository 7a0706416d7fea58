-- grain: one row per benchmark x model ('*' all pooled) x judge or metric: the mean of its 0-1 scores and the mean's standard error, which is
-- cluster-robust (sandwich), clusters being images or items; of an answer's criteria and samples the mean counts. Kept for rpt_metrics.
-- Hashes stand for names until the last step: over ten million scores strings take three times as long to group by
with models as (
    select distinct
        benchmark,
        model
    from core_answers
),

names as (
    select
        models.benchmark,
        models.model,
        judges.judge_id,
        judges.reading,
        hash(models.benchmark, models.model, judges.judge_id, judges.reading) as mean_hash,
        hash(models.benchmark, judges.judge_id, judges.reading) as pooled_hash
    from models
    cross join core_judges as judges
),

answers as (
    select
        hash(benchmark, model, judge_id, reading) as mean_hash,
        hash(cluster) as cluster_hash,
        avg(score_0_1) as score
    from core_scores
    group by hash(benchmark, model, judge_id, reading), hash(cluster), hash(item_id, answer_id)
),

by_model as (
    select
        mean_hash,
        cluster_hash,
        count(score) as n,
        count(*) - count(score) as n_missing,
        coalesce(sum(score), 0) as total
    from answers
    group by mean_hash, cluster_hash
),

clusters as (
    select * from by_model
    union all by name
    select
        names.pooled_hash as mean_hash,
        by_model.cluster_hash,
        sum(by_model.n)::bigint as n,
        sum(by_model.n_missing)::bigint as n_missing,
        sum(by_model.total) as total
    from by_model
    inner join names on by_model.mean_hash = names.mean_hash
    group by names.pooled_hash, by_model.cluster_hash
),

means as (
    select
        mean_hash,
        sum(total) / nullif(sum(n), 0) as mean
    from clusters
    group by mean_hash
),

spread as (
    select
        clusters.mean_hash,
        sum(clusters.n)::bigint as n,
        sum(clusters.n_missing)::bigint as n_missing,
        any_value(means.mean) as mean,
        count(*) filter (where clusters.n > 0) as n_clusters,
        sqrt(sum(power(clusters.total - clusters.n * means.mean, 2))) / nullif(sum(clusters.n), 0) as raw_error
    from clusters
    inner join means on clusters.mean_hash = means.mean_hash
    group by clusters.mean_hash
),

named as (
    select
        benchmark,
        model,
        judge_id,
        reading,
        mean_hash
    from names
    union
    select
        benchmark,
        '*' as model,
        judge_id,
        reading,
        pooled_hash as mean_hash
    from names
)

select
    named.benchmark,
    named.model,
    named.judge_id,
    named.reading,
    spread.n,
    spread.n_missing,
    spread.mean,
    spread.n_clusters,
    spread.raw_error,
    case when spread.n_clusters > 1 then spread.raw_error * sqrt(spread.n_clusters / (spread.n_clusters - 1)) end as standard_error
from spread
inner join named on spread.mean_hash = named.mean_hash
