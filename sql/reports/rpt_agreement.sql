-- grain: one row per benchmark x pair of raters x criterion: raw agreement and Cohen's kappa on what both labelled.
-- Raters are judges and `human:<annotator>`; labels are scores of answers or choices between two answers; sample 0 of each.
-- Raters of more than 21 different labels are left out; two on unlike scales have no label in common, and `reason` says so
with cells as (
    select * from core_label_pairs
),

scales as (
    select * from core_rater_scales
),

unlike as (
    select
        a.benchmark,
        a.criterion,
        a.rater as judge_a,
        b.rater as judge_b,
        printf('scales of unlike spans, %g and %g: no label in common; rpt_kappas has correlations', a.span, b.span) as reason
    from scales as a
    inner join scales as b on a.benchmark = b.benchmark and a.criterion = b.criterion and a.rater < b.rater and a.span <> b.span
),

observed as (
    select
        benchmark,
        judge_a,
        judge_b,
        criterion,
        sum(n) as n,
        coalesce(sum(n) filter (where label_a = label_b), 0) / sum(n) as agreement
    from cells
    group by benchmark, judge_a, judge_b, criterion
),

shares_a as (
    select
        benchmark,
        judge_a,
        judge_b,
        criterion,
        label_a as label,
        sum(n) as n
    from cells
    group by benchmark, judge_a, judge_b, criterion, label_a
),

shares_b as (
    select
        benchmark,
        judge_a,
        judge_b,
        criterion,
        label_b as label,
        sum(n) as n
    from cells
    group by benchmark, judge_a, judge_b, criterion, label_b
),

chance as (
    select
        a.benchmark,
        a.judge_a,
        a.judge_b,
        a.criterion,
        sum(a.n * b.n) as product
    from shares_a as a
    inner join shares_b as b
        on
            a.benchmark = b.benchmark
            and a.judge_a = b.judge_a
            and a.judge_b = b.judge_b
            and a.criterion = b.criterion
            and a.label = b.label
    group by a.benchmark, a.judge_a, a.judge_b, a.criterion
)

select
    observed.benchmark,
    observed.judge_a,
    observed.judge_b,
    observed.criterion,
    observed.n::bigint as n,
    case when unlike.judge_a is null then observed.agreement end as agreement,
    case
        when unlike.judge_a is null
            then
                (observed.agreement - coalesce(chance.product, 0) / (observed.n * observed.n))
                / nullif(1 - coalesce(chance.product, 0) / (observed.n * observed.n), 0)
    end as kappa,
    unlike.reason
from observed
left join unlike
    on
        observed.benchmark = unlike.benchmark
        and observed.judge_a = unlike.judge_a
        and observed.judge_b = unlike.judge_b
        and observed.criterion = unlike.criterion
left join chance
    on
        observed.benchmark = chance.benchmark
        and observed.judge_a = chance.judge_a
        and observed.judge_b = chance.judge_b
        and observed.criterion = chance.criterion
order by observed.benchmark, observed.judge_a, observed.judge_b, observed.criterion
