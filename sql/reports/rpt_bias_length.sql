-- grain: one row per benchmark x judge or metric x its criterion x human criterion: what an answer's length does to its score where people
-- scored alike. People's scores are parted in tenths; `slope` is the change of the score when an answer is twice as long (in characters)
-- as others of its tenth, by least squares within the tenths, with a cluster-robust 95 % interval; `pearson` the correlation within them
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

slopes as (
    select
        benchmark,
        judge,
        judge_criterion,
        human_criterion,
        sum(n)::bigint as n,
        case when sum(xx) > 1e-9 then sum(xx) end as spread,
        case when sum(yy) > 1e-9 then sum(yy) end as score_spread,
        sum(xy) as products,
        products / spread as slope,
        sqrt(
            greatest(sum(xy * xy) - 2 * slope * sum(xy * xx) + slope * slope * sum(xx * xx), 0) * count(*) / nullif(count(*) - 1, 0)
        ) / spread as standard_error
    from clusters
    group by benchmark, judge, judge_criterion, human_criterion
)

select
    slopes.benchmark,
    judges.alias as metric,
    slopes.judge_criterion,
    slopes.human_criterion,
    slopes.n,
    slopes.slope,
    slopes.slope - 1.959963984540054 * slopes.standard_error as low,
    slopes.slope + 1.959963984540054 * slopes.standard_error as high,
    slopes.products / sqrt(slopes.spread * slopes.score_spread) as pearson,
    slopes.judge
from slopes
inner join core_judges as judges on slopes.judge = judges.judge
order by slopes.benchmark, judges.alias, slopes.judge_criterion, slopes.human_criterion
