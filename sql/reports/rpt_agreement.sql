-- grain: one row per benchmark ('*' all) x pair of raters x criterion ('*' all) x task, category or style ('*' all; no two of them at once): raw
-- agreement and Cohen's kappa on what both labelled. Raters are judges and `human:<annotator>`; labels are scores of answers or choices between
-- two answers; sample 0 of each. All criteria, and each task, category and style, have rows where a benchmark has several, and all
-- benchmarks where two raters have labels in common in several. Raters of more than 21 different labels are left out; two on unlike scales
-- have no label in common, and `reason` says so
with pairs as materialized (
    select * from core_label_pairs
),

scales as (
    select * from core_rater_scales
),

unlike as (
    select
        case when grouping(a.benchmark) = 0 then a.benchmark else '*' end as benchmark,
        case when grouping(a.criterion) = 0 then a.criterion else '*' end as criterion,
        a.rater as judge_a,
        b.rater as judge_b,
        min(printf('scales of unlike spans, %g and %g: no label in common; rpt_kappas has correlations', a.span, b.span)) as reason
    from scales as a
    inner join scales as b on a.benchmark = b.benchmark and a.criterion = b.criterion and a.rater < b.rater and a.span <> b.span
    group by grouping sets (
        (a.benchmark, a.rater, b.rater, a.criterion),
        (a.benchmark, a.rater, b.rater),
        (a.rater, b.rater, a.criterion),
        (a.rater, b.rater)
    )
),

-- each label of one of two raters, and how often it is that of both
labels as (
    select
        benchmark,
        judge_a,
        judge_b,
        criterion,
        task,
        category,
        style,
        label_a as label,
        n as n_a,
        0 as n_b,
        case when label_a = label_b then n else 0 end as n_both
    from pairs
    union all
    select
        benchmark,
        judge_a,
        judge_b,
        criterion,
        task,
        category,
        style,
        label_b as label,
        0 as n_a,
        n as n_b,
        0 as n_both
    from pairs
),

shares as (
    select
        case when grouping(benchmark) = 0 then benchmark else '*' end as benchmark,
        judge_a,
        judge_b,
        case when grouping(criterion) = 0 then criterion else '*' end as criterion,
        case when grouping(task) = 0 then task else '*' end as task,
        case when grouping(category) = 0 then category else '*' end as category,
        case when grouping(style) = 0 then style else '*' end as style,
        sum(n_a) as n_a,
        sum(n_b) as n_b,
        sum(n_both) as n_both
    from labels
    group by grouping sets (
        (benchmark, judge_a, judge_b, label),
        (benchmark, judge_a, judge_b, label, task),
        (benchmark, judge_a, judge_b, label, category),
        (benchmark, judge_a, judge_b, label, style),
        (benchmark, judge_a, judge_b, label, criterion),
        (benchmark, judge_a, judge_b, label, criterion, task),
        (benchmark, judge_a, judge_b, label, criterion, category),
        (benchmark, judge_a, judge_b, label, criterion, style),
        (judge_a, judge_b, label),
        (judge_a, judge_b, label, task),
        (judge_a, judge_b, label, category),
        (judge_a, judge_b, label, style),
        (judge_a, judge_b, label, criterion),
        (judge_a, judge_b, label, criterion, task),
        (judge_a, judge_b, label, criterion, category),
        (judge_a, judge_b, label, criterion, style)
    )
),

-- a pair of answers in two styles is of no style
measured as (
    select
        benchmark,
        judge_a,
        judge_b,
        criterion,
        task,
        category,
        style,
        sum(n_a) as n,
        sum(n_both) / sum(n_a) as agreement,
        sum(n_a * n_b) / (sum(n_a) * sum(n_a)) as chance
    from shares
    where style is not null
    group by benchmark, judge_a, judge_b, criterion, task, category, style
),

-- how many values there are: a row of the only one would repeat that of all
several as (
    select
        case when grouping(benchmark) = 0 then benchmark else '*' end as benchmark,
        case when grouping(criterion) = 0 then criterion else '*' end as criterion,
        count(distinct criterion) as n_criteria,
        count(distinct task) as n_tasks,
        count(distinct category) as n_categories,
        count(distinct coalesce(style, '')) as n_styles
    from pairs
    group by grouping sets ((benchmark, criterion), (benchmark), (criterion), ())
),

shared as (
    select
        judge_a,
        judge_b,
        case when grouping(criterion) = 0 then criterion else '*' end as criterion
    from pairs
    group by grouping sets ((judge_a, judge_b, criterion), (judge_a, judge_b))
    having count(distinct benchmark) > 1
)

select
    measured.benchmark,
    measured.judge_a,
    measured.judge_b,
    measured.criterion,
    measured.task,
    measured.category,
    measured.style,
    measured.n::bigint as n,
    case when unlike.judge_a is null then measured.agreement end as agreement,
    case when unlike.judge_a is null then (measured.agreement - measured.chance) / nullif(1 - measured.chance, 0) end as kappa,
    unlike.reason
from measured
inner join several on measured.benchmark = several.benchmark and measured.criterion = several.criterion
left join unlike
    on
        measured.benchmark = unlike.benchmark
        and measured.judge_a = unlike.judge_a
        and measured.judge_b = unlike.judge_b
        and measured.criterion = unlike.criterion
left join shared
    on
        measured.judge_a = shared.judge_a
        and measured.judge_b = shared.judge_b
        and measured.criterion = shared.criterion
where
    (measured.benchmark <> '*' or shared.judge_a is not null)
    and (measured.criterion <> '*' or several.n_criteria > 1)
    and (measured.task = '*' or several.n_tasks > 1)
    and (measured.category = '*' or several.n_categories > 1)
    and (measured.style = '*' or several.n_styles > 1)
order by
    measured.benchmark,
    measured.judge_a,
    measured.judge_b,
    measured.criterion,
    measured.task,
    measured.category,
    measured.style
