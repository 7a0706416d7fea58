-- grain: one row per benchmark x kind of case x labeller x category x judge or metric x its criterion (LAVE, Figure 4): mean score on the
-- answers of which the category holds, samples averaged. Labeller and category '*': all cases, labelled or not. Of `missed` cases people
-- say correct, so a judge that sides with them gives 1. The interval is that of rpt_metrics, `reason` why there is none
with cases as (
    select * from core_failure_cases
    where case_kind <> 'other'
),

scores as (
    select
        cases.benchmark,
        cases.case_kind,
        cases.cluster,
        cases.item_id,
        cases.answer_id,
        scores.judge,
        any_value(scores.alias) as alias,
        scores.criterion,
        avg(scores.score_0_1) as score,
        min(scores.score_0_1) as lowest,
        max(scores.score_0_1) as highest
    from core_scores as scores
    inner join cases
        on
            scores.benchmark = cases.benchmark
            and scores.item_id = cases.item_id
            and scores.answer_id = cases.answer_id
    group by cases.benchmark, cases.case_kind, cases.cluster, cases.item_id, cases.answer_id, scores.judge, scores.criterion
),

labelled as (
    select
        benchmark,
        item_id,
        answer_id,
        labelled_by,
        labeller,
        category
    from core_failure_labels
    where status = 'ok' and holds
    union all
    select
        benchmark,
        item_id,
        answer_id,
        '*' as labelled_by,
        '*' as labeller,
        '*' as category
    from cases
),

clusters as (
    select
        scores.benchmark,
        scores.case_kind,
        labelled.labelled_by,
        labelled.labeller,
        labelled.category,
        scores.judge,
        any_value(scores.alias) as alias,
        scores.criterion,
        scores.cluster,
        count(scores.score) as n,
        count(*) - count(scores.score) as n_missing,
        coalesce(sum(scores.score), 0) as total,
        min(scores.lowest) as lowest,
        max(scores.highest) as highest
    from scores
    inner join labelled
        on
            scores.benchmark = labelled.benchmark
            and scores.item_id = labelled.item_id
            and scores.answer_id = labelled.answer_id
    group by
        scores.benchmark,
        scores.case_kind,
        labelled.labelled_by,
        labelled.labeller,
        labelled.category,
        scores.judge,
        scores.criterion,
        scores.cluster
),

weighed as (
    select
        *,
        sum(n) over labelled_alike as all_n,
        coalesce(sum(total) over labelled_alike / nullif(sum(n) over labelled_alike, 0), 0) as middle
    from clusters
    window labelled_alike as (partition by benchmark, case_kind, labelled_by, labeller, category, judge, criterion)
),

means as (
    select
        benchmark,
        case_kind,
        labelled_by,
        labeller,
        category,
        judge,
        any_value(alias) as alias,
        criterion,
        sum(n)::bigint as n,
        sum(n_missing)::bigint as n_missing,
        min(lowest) as lowest,
        max(highest) as highest,
        cluster_spread(n, total, all_n, middle := middle) as spread
    from weighed
    group by benchmark, case_kind, labelled_by, labeller, category, judge, criterion
),

scaled as (
    select
        means.*,
        coalesce(judges.is_0_1, min(means.lowest) over of_judge >= 0 and max(means.highest) over of_judge <= 1, true) as are_0_1
    from means
    left join core_judges as judges on means.judge = judges.judge
    window of_judge as (partition by means.judge)
),

ended as (
    select
        *,
        spread_ends(spread, are_0_1) as ends
    from scaled
)

select
    benchmark,
    case_kind,
    labelled_by,
    labeller,
    category,
    alias as metric,
    criterion,
    n,
    n_missing,
    spread.mean as mean,
    ends.low as low,
    ends.high as high,
    ends.reason as reason,
    judge
from ended
order by benchmark, case_kind, labelled_by, labeller, category, metric, criterion
