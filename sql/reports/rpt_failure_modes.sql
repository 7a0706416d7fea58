-- grain: one row per benchmark x model x kind of case x labeller x category (LAVE, Table 1): share of the examples it labelled of which the
-- category holds, 0 too; several may hold of one, so shares need not sum to 1. Model '*' is all models pooled, and each has a row where there
-- are several; benchmark '*' is all benchmarks pooled where there are several. The interval is that of rpt_metrics, `reason` why there is none
with cases as (
    select * from core_failure_cases
    where case_kind <> 'other'
),

named as materialized (
    select * from core_failure_labels
),

-- rules and judges decide each category that they know; people say yes or no to those they were asked, or name what holds, of all nine
candidates as (
    select
        labelled_by,
        labeller,
        unnest(
            case
                when labelled_by = 'imported' and bool_and(holds)
                    then [
                        'multiple_answers',
                        'specificity_or_verbosity',
                        'synonym',
                        'broad_question',
                        'incorrect',
                        'same_stem',
                        'hypernym',
                        'unknown',
                        'ambiguous_object'
                    ]
                else list(distinct category)
            end
        ) as category
    from named
    group by labelled_by, labeller
),

labels as materialized (
    select
        cases.benchmark,
        cases.model,
        cases.case_kind,
        cluster_key(cases.benchmark, cases.cluster) as cluster,
        cases.item_id,
        cases.answer_id,
        named.labelled_by,
        named.labeller,
        named.category,
        named.holds
    from named
    inner join cases
        on
            named.benchmark = cases.benchmark
            and named.item_id = cases.item_id
            and named.answer_id = cases.answer_id
    where named.status = 'ok'
),

examples as (
    select
        benchmark,
        model,
        case_kind,
        cluster,
        labelled_by,
        labeller,
        count(distinct struct_pack(item_id := item_id, answer_id := answer_id)) as n
    from labels
    group by benchmark, model, case_kind, cluster, labelled_by, labeller
),

held as (
    select
        benchmark,
        model,
        case_kind,
        cluster,
        labelled_by,
        labeller,
        category,
        count(*) as total
    from labels
    where holds
    group by benchmark, model, case_kind, cluster, labelled_by, labeller, category
),

counted as (
    select
        examples.benchmark,
        examples.model,
        examples.case_kind,
        examples.cluster,
        examples.labelled_by,
        examples.labeller,
        candidates.category,
        examples.n,
        coalesce(held.total, 0) as total
    from examples
    inner join candidates on examples.labelled_by = candidates.labelled_by and examples.labeller = candidates.labeller
    left join held
        on
            examples.benchmark = held.benchmark
            and examples.model = held.model
            and examples.case_kind = held.case_kind
            and examples.cluster = held.cluster
            and examples.labelled_by = held.labelled_by
            and examples.labeller = held.labeller
            and candidates.category = held.category
),

clusters as (
    select
        case when grouping(benchmark) = 1 then '*' else benchmark end as benchmark,
        case when grouping(model) = 1 then '*' else model end as model,
        case_kind,
        labelled_by,
        labeller,
        category,
        cluster,
        sum(n) as n,
        sum(total) as total
    from counted
    group by grouping sets (
        (case_kind, labelled_by, labeller, category, cluster),
        (case_kind, labelled_by, labeller, category, cluster, model),
        (case_kind, labelled_by, labeller, category, cluster, benchmark),
        (case_kind, labelled_by, labeller, category, cluster, benchmark, model)
    )
),

weighed as (
    select
        *,
        sum(n) over labelled as all_n
    from clusters
    window labelled as (partition by benchmark, model, case_kind, labelled_by, labeller, category)
),

shares as (
    select
        benchmark,
        model,
        case_kind,
        labelled_by,
        labeller,
        category,
        sum(total) as n_holds,
        sum(n) as n,
        cluster_spread(n, total, all_n) as spread
    from weighed
    group by benchmark, model, case_kind, labelled_by, labeller, category
),

ended as (
    select
        *,
        share_ends(spread) as ends
    from shares
)

select
    benchmark,
    model,
    case_kind,
    labelled_by,
    labeller,
    category,
    n_holds::bigint as n_holds,
    n::bigint as n,
    n_holds / n as share,
    ends.low as low,
    ends.high as high,
    ends.reason as reason
from ended
window
    of_models as (partition by benchmark, case_kind, labelled_by, labeller, category),
    of_benchmarks as (partition by case_kind, labelled_by, labeller, category)
qualify
    (model = '*' or count(*) filter (where model <> '*') over of_models > 1)
    and (benchmark <> '*' or count(*) filter (where benchmark <> '*' and model = '*') over of_benchmarks > 1)
order by benchmark asc, model asc, case_kind asc, labelled_by asc, labeller asc, share desc, category asc
