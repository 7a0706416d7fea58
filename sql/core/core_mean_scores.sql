-- grain: one row per benchmark x model ('*' all pooled) x judge or metric: the mean of its 0-1 scores and its `spread` over
-- clusters, images or items (see the function cluster_spread); of an answer's criteria and samples the mean counts. `are_0_1`: its
-- scores are from 0 to 1 (core_judges), or none is known to lie beyond. Then `least` and `most` are the mean were each missing score
-- 0, or 1, a part of an answer's scores too; `n_partly_missing` of the `n` answers lack such a part. Kept for rpt_metrics.
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
        avg(score_0_1) as score,
        min(score_0_1) as lowest,
        max(score_0_1) as highest,
        coalesce(sum(score_0_1), 0) / count(*) as least,
        1 - count(score_0_1) / count(*) as missing
    from core_scores
    group by hash(benchmark, model, judge_id, reading), hash(cluster), hash(item_id, answer_id)
),

by_model as (
    select
        mean_hash,
        cluster_hash,
        count(score) as n,
        count(*) - count(score) as n_missing,
        count(*) filter (where score is not null and missing > 0) as n_partly_missing,
        coalesce(sum(score), 0) as total,
        min(lowest) as lowest,
        max(highest) as highest,
        sum(least) as least,
        sum(missing) as missing
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
        sum(by_model.n_partly_missing)::bigint as n_partly_missing,
        sum(by_model.total) as total,
        min(by_model.lowest) as lowest,
        max(by_model.highest) as highest,
        sum(by_model.least) as least,
        sum(by_model.missing) as missing
    from by_model
    inner join names on by_model.mean_hash = names.mean_hash
    group by names.pooled_hash, by_model.cluster_hash
),

sizes as (
    select
        mean_hash,
        sum(n) as all_n,
        sum(total) / sum(n) as middle
    from clusters
    group by mean_hash
),

spread as (
    select
        clusters.mean_hash,
        sum(clusters.n)::bigint as n,
        sum(clusters.n_missing)::bigint as n_missing,
        sum(clusters.n_partly_missing)::bigint as n_partly_missing,
        min(clusters.lowest) as lowest,
        max(clusters.highest) as highest,
        sum(clusters.least) / sum(clusters.n + clusters.n_missing) as least,
        sum(clusters.least + clusters.missing) / sum(clusters.n + clusters.n_missing) as most,
        cluster_spread(clusters.n, clusters.total, sizes.all_n, middle := coalesce(sizes.middle, 0)) as spread
    from clusters
    inner join sizes on clusters.mean_hash = sizes.mean_hash
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
),

scaled as (
    select
        named.judge_id,
        named.reading,
        coalesce(any_value(judges.is_0_1), min(spread.lowest) >= 0 and max(spread.highest) <= 1, true) as are_0_1
    from spread
    inner join named on spread.mean_hash = named.mean_hash
    inner join core_judges as judges on named.judge_id = judges.judge_id and named.reading = judges.reading
    group by named.judge_id, named.reading
)

select
    named.benchmark,
    named.model,
    named.judge_id,
    named.reading,
    spread.n,
    spread.n_missing,
    spread.n_partly_missing,
    spread.spread.mean as mean,
    scaled.are_0_1,
    case when scaled.are_0_1 then spread.least end as least,
    case when scaled.are_0_1 then spread.most end as most,
    spread.spread.n_clusters as n_clusters,
    spread.spread as spread
from spread
inner join named on spread.mean_hash = named.mean_hash
inner join scaled on named.judge_id = scaled.judge_id and named.reading = scaled.reading
