-- grain: one row per benchmark x grader of 0 or 1 x criteria x model ('*' all) x style ('*' all): its accuracy against what all annotators of
-- an answer gave (CHIRP, Table 7), sample 0; one model or style alone has no row of its own. Of `n_left_out` answers annotators differ, or
-- gave neither 0 nor 1
with graders as (
    select
        benchmark,
        judge,
        criterion
    from core_scores
    where status = 'ok' and sample = 0
    group by benchmark, judge, criterion
    having bool_and(score_0_1 in (0, 1))
),

scores as (
    select
        core_scores.benchmark,
        core_scores.item_id,
        core_scores.answer_id,
        core_scores.model,
        core_scores.cluster,
        core_scores.judge,
        core_scores.criterion,
        core_scores.score_0_1
    from core_scores
    semi join graders
        on
            core_scores.benchmark = graders.benchmark
            and core_scores.judge = graders.judge
            and core_scores.criterion = graders.criterion
    where core_scores.status = 'ok' and core_scores.sample = 0
),

people as (
    select
        benchmark,
        item_id,
        answer_id,
        criterion,
        case when min(score_0_1) = max(score_0_1) and max(score_0_1) in (0, 1) then max(score_0_1) end as human_score
    from stg_human_ratings
    group by benchmark, item_id, answer_id, criterion
),

graded as (
    select
        scores.benchmark,
        scores.judge,
        scores.criterion as judge_criterion,
        people.criterion as human_criterion,
        scores.model,
        coalesce(answers.style, '(none)') as style,
        scores.cluster,
        scores.score_0_1 as graded,
        people.human_score as truth
    from scores
    inner join people
        on scores.benchmark = people.benchmark and scores.item_id = people.item_id and scores.answer_id = people.answer_id
    inner join stg_answers as answers
        on scores.benchmark = answers.benchmark and scores.item_id = answers.item_id and scores.answer_id = answers.answer_id
),

clusters as (
    select
        benchmark,
        judge,
        judge_criterion,
        human_criterion,
        coalesce(model, '*') as model,
        coalesce(style, '*') as style,
        cluster,
        count(truth) as n,
        count(*) - count(truth) as n_left_out,
        count(*) filter (where graded = 1 and truth = 1) as true_positives,
        count(*) filter (where graded = 1 and truth = 0) as false_positives,
        count(*) filter (where graded = 0 and truth = 0) as true_negatives,
        count(*) filter (where graded = 0 and truth = 1) as false_negatives
    from graded
    group by grouping sets (
        (benchmark, judge, judge_criterion, human_criterion, cluster),
        (benchmark, judge, judge_criterion, human_criterion, cluster, model),
        (benchmark, judge, judge_criterion, human_criterion, cluster, style),
        (benchmark, judge, judge_criterion, human_criterion, cluster, model, style)
    )
),

weighed as (
    select
        *,
        false_positives + true_negatives as n_wrong,
        true_positives + false_negatives as n_right,
        sum(n) over compared as all_n,
        sum(false_positives + true_negatives) over compared as all_wrong,
        sum(true_positives + false_negatives) over compared as all_right
    from clusters
    window compared as (partition by benchmark, judge, judge_criterion, human_criterion, model, style)
),

rates as (
    select
        benchmark,
        judge,
        judge_criterion,
        human_criterion,
        model,
        style,
        sum(n)::bigint as n,
        sum(n_left_out)::bigint as n_left_out,
        sum(true_positives)::bigint as true_positives,
        sum(false_positives)::bigint as false_positives,
        sum(true_negatives)::bigint as true_negatives,
        sum(false_negatives)::bigint as false_negatives,
        cluster_spread(n, true_positives + true_negatives, all_n) as accuracy,
        cluster_spread(n_wrong, false_positives, all_wrong) as false_positive,
        cluster_spread(n_right, false_negatives, all_right) as false_negative
    from weighed
    group by benchmark, judge, judge_criterion, human_criterion, model, style
),

ended as (
    select
        *,
        share_ends(accuracy) as accuracy_ends,
        share_ends(false_positive) as false_positive_ends,
        share_ends(false_negative) as false_negative_ends
    from rates
)

select
    benchmark,
    judge,
    judge_criterion,
    human_criterion,
    model,
    style,
    n,
    n_left_out,
    accuracy.n_clusters as n_clusters,
    true_positives,
    false_positives,
    true_negatives,
    false_negatives,
    accuracy.mean as accuracy,
    accuracy_ends.low as accuracy_low,
    accuracy_ends.high as accuracy_high,
    accuracy_ends.reason as accuracy_reason,
    false_positive.mean as false_positive_rate,
    false_positive_ends.low as false_positive_low,
    false_positive_ends.high as false_positive_high,
    false_positive_ends.reason as false_positive_reason,
    false_negative.mean as false_negative_rate,
    false_negative_ends.low as false_negative_low,
    false_negative_ends.high as false_negative_high,
    false_negative_ends.reason as false_negative_reason
from ended
window grader as (partition by benchmark, judge, judge_criterion, human_criterion)
qualify
    (model = '*' or count(*) filter (where model <> '*' and style = '*') over grader > 1)
    and (style = '*' or count(*) filter (where style <> '*' and model = '*') over grader > 1)
order by benchmark, judge, judge_criterion, human_criterion, model, style
