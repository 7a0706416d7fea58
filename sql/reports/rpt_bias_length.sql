-- grain: one row per benchmark x judge or metric x its criterion x human criterion: what an answer's length does to its score where people
-- scored alike. People's scores are parted in tenths; `slope` is the change of the score when an answer is twice as long (in characters)
-- as others of its tenth, by least squares within the tenths, with a cluster-robust 95 % interval (`reason`: why there is none); `pearson`
-- the correlation within them
with scores as (
    select
        scores.benchmark,
        scores.judge,
        scores.judge_criterion,
        scores.human_criterion,
        scores.cluster,
        least(floor(10 * scores.human_score + 1e-9), 9) as tenth,
        scores.judge_score as y,
        log2(length(answers.text)) as x
    from core_rated_scores as scores
    inner join core_answers as answers
        on
            scores.benchmark = answers.benchmark
            and scores.item_id = answers.item_id
            and scores.answer_id = answers.answer_id
    where answers.text <> ''
),

centred as (
    select
        benchmark,
        judge,
        judge_criterion,
        human_criterion,
        cluster,
        tenth,
        count(*) over alike > 1 as is_compared,
        x - avg(x) over alike as x,
        y - avg(y) over alike as y
    from scores
    window alike as (partition by benchmark, judge, judge_criterion, human_criterion, tenth)
),

clusters as (
    select
        benchmark,
        judge,
        judge_criterion,
        human_criterion,
        cluster,
        count(*) as n,
        sum(x * x) as xx,
        sum(x * y) as xy,
        sum(y * y) as yy
    from centred
    group by benchmark, judge, judge_criterion, human_criterion, cluster
),

tenths as (
    select
        benchmark,
        judge,
        judge_criterion,
        human_criterion,
        count(*) / nullif(count(*) - count(distinct tenth), 0) as absorbed
    from centred
    where is_compared
    group by benchmark, judge, judge_criterion, human_criterion
),

weighed as (
    select
        clusters.*,
        tenths.absorbed,
        sum(clusters.xx) over compared as all_xx
    from clusters
    left join tenths
        on
            clusters.benchmark = tenths.benchmark
            and clusters.judge = tenths.judge
            and clusters.judge_criterion = tenths.judge_criterion
            and clusters.human_criterion = tenths.human_criterion
    window compared as (partition by clusters.benchmark, clusters.judge, clusters.judge_criterion, clusters.human_criterion)
),

slopes as (
    select
        benchmark,
        judge,
        judge_criterion,
        human_criterion,
        sum(n)::bigint as n,
        case when sum(xx) > 1e-9 then sum(xx) end as length_spread,
        case when sum(yy) > 1e-9 then sum(yy) end as score_spread,
        sum(xy) as products,
        any_value(absorbed) as absorbed,
        cluster_spread(xx, xy, all_xx) as slope
    from weighed
    group by benchmark, judge, judge_criterion, human_criterion
),

bounded as (
    select
        *,
        case
            when length_spread is null
                then struct_pack(low := null::double, high := null::double, reason := 'no two answers of one tenth differ in length')
            when score_spread is null
                then struct_pack(low := null::double, high := null::double, reason := 'no two answers of one tenth differ in score')
            -- what the means of the tenths take from the variance of what is left
            else mean_ends(
                struct_pack(
                    mean := slope.mean,
                    variance := slope.variance * absorbed,
                    degrees := slope.degrees,
                    effective := slope.effective,
                    n_clusters := slope.n_clusters,
                    n_differing := slope.n_differing
                ),
                '-infinity'::double,
                'infinity'::double
            )
        end as ends
    from slopes
)

select
    slopes.benchmark,
    judges.alias as metric,
    slopes.judge_criterion,
    slopes.human_criterion,
    slopes.n,
    case when slopes.length_spread is not null then slopes.slope.mean end as slope,
    slopes.ends.low as low,
    slopes.ends.high as high,
    slopes.ends.reason as reason,
    slopes.products / sqrt(slopes.length_spread * slopes.score_spread) as pearson,
    slopes.judge
from bounded as slopes
inner join core_judges as judges on slopes.judge = judges.judge
order by slopes.benchmark, judges.alias, slopes.judge_criterion, slopes.human_criterion
