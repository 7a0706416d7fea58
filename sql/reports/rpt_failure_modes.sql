-- grain: one row per benchmark x kind of case x labeller x category (LAVE, Table 1): share of the examples it labelled of which the category
-- holds; several may hold of one, so shares need not sum to 1. The interval is that of rpt_metrics, `reason` why there is none
with cases as (
    select * from core_failure_cases
    where case_kind <> 'other'
),

labels as (
    select
        cases.benchmark,
        cases.case_kind,
        cases.cluster,
        cases.item_id,
        cases.answer_id,
        labels.labelled_by,
        labels.labeller,
        labels.category,
        labels.holds
    from core_failure_labels as labels
    inner join cases
        on
            labels.benchmark = cases.benchmark
            and labels.item_id = cases.item_id
            and labels.answer_id = cases.answer_id
    where labels.status = 'ok'
),

examples as (
    select distinct
        benchmark,
        case_kind,
        labelled_by,
        labeller,
        cluster,
        item_id,
        answer_id
    from labels
),

clusters as (
    select
        benchmark,
        case_kind,
        labelled_by,
        labeller,
        cluster,
        count(*) as n
    from examples
    group by benchmark, case_kind, labelled_by, labeller, cluster
),

weighed as (
    select
        *,
        sum(n) over of_labeller as all_n
    from clusters
    window of_labeller as (partition by benchmark, case_kind, labelled_by, labeller)
),

held as (
    select
        labels.benchmark,
        labels.case_kind,
        labels.labelled_by,
        labels.labeller,
        labels.category,
        labels.cluster,
        count(*) filter (where labels.holds) as total
    from labels
    group by labels.benchmark, labels.case_kind, labels.labelled_by, labels.labeller, labels.category, labels.cluster
),

categories as (
    select distinct
        benchmark,
        case_kind,
        labelled_by,
        labeller,
        category
    from held
),

shares as (
    select
        categories.benchmark,
        categories.case_kind,
        categories.labelled_by,
        categories.labeller,
        categories.category,
        coalesce(sum(held.total), 0) as n_holds,
        sum(weighed.n) as n,
        cluster_spread(weighed.n, coalesce(held.total, 0), weighed.all_n) as spread
    from categories
    inner join weighed
        on
            categories.benchmark = weighed.benchmark
            and categories.case_kind = weighed.case_kind
            and categories.labelled_by = weighed.labelled_by
            and categories.labeller = weighed.labeller
    left join held
        on
            categories.benchmark = held.benchmark
            and categories.case_kind = held.case_kind
            and categories.labelled_by = held.labelled_by
            and categories.labeller = held.labeller
            and categories.category = held.category
            and weighed.cluster = held.cluster
    group by categories.benchmark, categories.case_kind, categories.labelled_by, categories.labeller, categories.category
)

select
    benchmark,
    case_kind,
    labelled_by,
    labeller,
    category,
    n_holds::bigint as n_holds,
    n::bigint as n,
    n_holds / n as share,
    share_ends(spread).low as low,
    share_ends(spread).high as high,
    share_ends(spread).reason as reason
from shares
order by benchmark asc, case_kind asc, labelled_by asc, labeller asc, share desc, category asc
