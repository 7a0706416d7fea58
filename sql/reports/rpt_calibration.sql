-- grain: one row per benchmark x judge or metric x its criterion x human criterion x tenth of its score: people's mean beside its own on the
-- answers both scored (a reliability diagram), with the interval of the difference (see the function signed_ends;
-- `reason`: why there is none). `calibration_error` is the
-- mean size of the differences, each tenth by its answers; `answer_form` is how a judge's answers were asked for.
-- A metric with a scale beyond 0 and 1 has no row
with beyond as (
    select scores.judge
    from core_rated_scores as scores
    left join core_judges as judges on scores.judge = judges.judge
    group by scores.judge
    having not coalesce(any_value(judges.is_0_1), min(scores.judge_score) >= 0 and max(scores.judge_score) <= 1)
),

clusters as (
    select
        benchmark,
        judge,
        judge_criterion,
        human_criterion,
        least(floor(round(10 * judge_score, 6)), 9) / 10 as score_from,
        cluster,
        count(*) as n,
        sum(judge_score) as judge_total,
        sum(human_score) as human_total,
        sum(abs(judge_score - human_score)) as apart
    from core_rated_scores
    where judge not in (select judge from beyond)
    group by all
),

weighed as (
    select
        *,
        sum(n) over tenth as all_n
    from clusters
    window tenth as (partition by benchmark, judge, judge_criterion, human_criterion, score_from)
),

means as (
    select
        benchmark,
        judge,
        judge_criterion,
        human_criterion,
        score_from,
        sum(n)::bigint as n,
        sum(judge_total) / sum(n) as judge_mean,
        sum(human_total) / sum(n) as human_mean,
        cluster_spread(n, judge_total - human_total, all_n) as spread,
        cluster_spread(n, (apart + judge_total - human_total) / 2, all_n) as above,
        cluster_spread(n, (apart - judge_total + human_total) / 2, all_n) as below
    from weighed
    group by benchmark, judge, judge_criterion, human_criterion, score_from
),

ended as (
    select
        *,
        signed_ends(spread, above, below) as ends
    from means
)

select
    means.benchmark,
    judges.alias as metric,
    case
        when judges.kind = 'judge'
            then coalesce(nullif(regexp_extract(judges.signature, '(?:^|[|])answer_form:([a-z]+)', 1), ''), 'free')
    end as answer_form,
    means.judge_criterion,
    means.human_criterion,
    means.score_from,
    means.score_from + 0.1 as score_to,
    means.n,
    means.judge_mean,
    means.human_mean,
    means.spread.mean as difference,
    means.ends.low as low,
    means.ends.high as high,
    means.ends.reason as reason,
    sum(means.n * abs(means.spread.mean)) over compared / sum(means.n) over compared as calibration_error,
    means.judge
from ended as means
inner join core_judges as judges on means.judge = judges.judge
window compared as (partition by means.benchmark, means.judge, means.judge_criterion, means.human_criterion)
order by means.benchmark, judges.alias, means.judge_criterion, means.human_criterion, means.score_from
