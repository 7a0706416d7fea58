-- grain: one row per model x cluster x position of a metric's statistics (the score where it has none): their sum over $benchmark's answers.
-- `n` answers have a score; `n_missing`, given at position 1, have none. Clusters are numbered by their keys over all answers of the benchmark
with answers as (
    select * from core_answers
    where benchmark = $benchmark and list_contains($tasks, task)
),

clusters as (
    select
        cluster,
        row_number() over (order by cluster_key($benchmark, cluster)) - 1 as cluster_code
    from (select distinct cluster from core_answers where benchmark = $benchmark) as named
),

scores as (
    select * from stg_metric_scores
    where judge_id = $judge_id and benchmark = $benchmark
),

numbers as (
    select
        answers.model,
        clusters.cluster_code,
        coalesce(scores.statistics, [scores.score]) as numbers
    from answers
    inner join clusters on answers.cluster = clusters.cluster
    left join scores
        on
            answers.item_id = scores.item_id
            and answers.content_digest = scores.content_digest
            and scores.context_digest in ('', coalesce(answers.images[1].sha256, 'none'))
),

positions as (
    select
        model,
        cluster_code,
        unnest(numbers) as number,
        generate_subscripts(numbers, 1) as position
    from numbers
)

select
    model,
    cluster_code,
    position,
    count(number) as n,
    count(*) - count(number) as n_missing,
    coalesce(sum(number), 0) as total
from positions
group by model, cluster_code, position
order by model, cluster_code, position
