-- grain: one row per benchmark x model ('*' all pooled) x judge or metric x its criterion x human criterion: its mean score less people's on
-- the answers both scored, with the interval of a mean (`reason`: why there is none); above 0 it is more lenient than people
with clusters as (
    select
        benchmark,
        case when grouping(model) = 1 then '*' else model end as model,
        judge,
        judge_criterion,
        human_criterion,
        cluster,
        count(*) as n,
        sum(judge_score) as judge_total,
        sum(human_score) as human_total,
        sum(judge_score - human_score) as total
    from core_rated_scores
    group by
        grouping sets (
            (benchmark, model, judge, judge_criterion, human_criterion, cluster),
            (benchmark, judge, judge_criterion, human_criterion, cluster)
        )
),

weighed as (
    select
        *,
        sum(n) over compared as all_n
    from clusters
    window compared as (partition by benchmark, model, judge, judge_criterion, human_criterion)
),

means as (
    select
        benchmark,
        model,
        judge,
        judge_criterion,
        human_criterion,
        sum(n)::bigint as n,
        sum(judge_total) / sum(n) as judge_mean,
        sum(human_total) / sum(n) as human_mean,
        cluster_spread(n, total, all_n) as spread
    from weighed
    group by benchmark, model, judge, judge_criterion, human_criterion
),

ended as (
    select
        *,
        mean_ends(spread, -1, 1) as ends
    from means
)

select
    means.benchmark,
    means.model,
    judges.alias as metric,
    means.judge_criterion,
    means.human_criterion,
    means.n,
    means.judge_mean,
    means.human_mean,
    means.spread.mean as difference,
    means.ends.low as low,
    means.ends.high as high,
    means.ends.reason as reason,
    means.judge
from ended as means
inner join core_judges as judges on means.judge = judges.judge
order by means.benchmark, judges.alias, means.judge_criterion, means.human_criterion, means.model
