-- grain: one row per benchmark x model ('*' all pooled) x judge or metric x its criterion x human criterion: its mean score less people's on
-- the answers both scored, with its interval (see the function signed_ends; `reason`: why there is none); above 0 it is more lenient than
-- people. A metric with a scale beyond 0 and 1 has no difference
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
        sum(abs(judge_score - human_score)) as apart,
        min(judge_score) as lowest,
        max(judge_score) as highest
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
        min(lowest) as lowest,
        max(highest) as highest,
        cluster_spread(n, judge_total - human_total, all_n) as spread,
        cluster_spread(n, (apart + judge_total - human_total) / 2, all_n) as above,
        cluster_spread(n, (apart - judge_total + human_total) / 2, all_n) as below
    from weighed
    group by benchmark, model, judge, judge_criterion, human_criterion
),

scaled as (
    select
        means.*,
        coalesce(judges.is_0_1, min(means.lowest) over of_judge >= 0 and max(means.highest) over of_judge <= 1) as are_0_1
    from means
    left join core_judges as judges on means.judge = judges.judge
    window of_judge as (partition by means.judge)
),

ended as (
    select
        *,
        case
            when are_0_1 then signed_ends(spread, above, below)
            else struct_pack(low := null::double, high := null::double, reason := 'its scale is not 0 to 1, as people''s is')
        end as ends
    from scaled
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
    case when means.are_0_1 then means.spread.mean end as difference,
    means.ends.low as low,
    means.ends.high as high,
    means.ends.reason as reason,
    means.judge
from ended as means
inner join core_judges as judges on means.judge = judges.judge
order by means.benchmark, judges.alias, means.judge_criterion, means.human_criterion, means.model
