-- grain: one row per benchmark x kind of case x labeller x category (LAVE, Table 1): share of the examples it labelled of which the category
-- holds; several may hold of one, so shares need not sum to 1. The interval is that of rpt_metrics, cut at 0 and 1; none where none or all hold
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

labellers as (
    select
        benchmark,
        case_kind,
        labelled_by,
        labeller,
        sum(n) as n,
        count(*) as n_clusters,
        sum(n * n) as squares
    from clusters
    group by benchmark, case_kind, labelled_by, labeller
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

sums as (
    select
        held.benchmark,
        held.case_kind,
        held.labelled_by,
        held.labeller,
        held.category,
        sum(held.total) as n_holds,
        sum(held.total * held.total) as total_squares,
        sum(held.total * clusters.n) as products
    from held
    inner join clusters
        on
            held.benchmark = clusters.benchmark
            and held.case_kind = clusters.case_kind
            and held.labelled_by = clusters.labelled_by
            and held.labeller = clusters.labeller
            and held.cluster = clusters.cluster
    group by held.benchmark, held.case_kind, held.labelled_by, held.labeller, held.category
),

shares as (
    select
        sums.benchmark,
        sums.case_kind,
        sums.labelled_by,
        sums.labeller,
        sums.category,
        sums.n_holds,
        labellers.n,
        sums.n_holds / labellers.n as share,
        sqrt(
            greatest(sums.total_squares - 2 * share * sums.products + share * share * labellers.squares, 0)
            * labellers.n_clusters / nullif(labellers.n_clusters - 1, 0)
        ) / labellers.n as raw_error,
        case when share > 0 and share < 1 then raw_error end as standard_error
    from sums
    inner join labellers
        on
            sums.benchmark = labellers.benchmark
            and sums.case_kind = labellers.case_kind
            and sums.labelled_by = labellers.labelled_by
            and sums.labeller = labellers.labeller
)

select
    benchmark,
    case_kind,
    labelled_by,
    labeller,
    category,
    n_holds::bigint as n_holds,
    n::bigint as n,
    share,
    case when standard_error is not null then greatest(share - 1.959963984540054 * standard_error, 0) end as low,
    case when standard_error is not null then least(share + 1.959963984540054 * standard_error, 1) end as high
from shares
order by benchmark asc, case_kind asc, labelled_by asc, labeller asc, share desc, category asc
