-- grain: one row per suite x judge x criteria x rule x rater x coefficient over all benchmarks that have the target: `pooled` is of all their
-- rows (LAVE's "Overall"), `mean_of_cells` the mean over benchmark x model, cells without a coefficient left out; clusters are resampled
-- within benchmarks. `mark` is of the pooled column. Of a suite with one such benchmark both are the benchmark's own
with correlations as (
    select
        suite,
        benchmark,
        model,
        judge,
        judge_criterion,
        human_criterion,
        human_rule,
        against,
        coefficient,
        n,
        n_clusters,
        n_cells,
        n_undefined,
        value,
        low,
        high,
        reason,
        resamples,
        seed,
        reported_at,
        -- the key of a column of judges
        (suite, human_criterion, human_rule, against) as target
    from stg_correlations
    where sample_rule = 'mean' and human_rule in ('mean', 'lave') and coefficient in ('pearson', 'spearman', 'kendall_tau_b', 'kendall_tau_c')
),

together as (
    select * from correlations
    where benchmark = '*'
),

alone as (
    select * from correlations
    where benchmark <> '*' and target not in (select target from together)
),

pooled as (
    select * from together
    where model = '*'
    union all
    select * from alone
    where model = '*'
),

averaged as (
    select * from together
    where model = '(mean of cells)'
    union all
    select * from alone
    where model = '(mean of models)'
),

counted as (
    select
        target,
        list(distinct benchmark order by benchmark) as benchmarks
    from correlations
    where benchmark <> '*'
    group by target
)

select
    pooled.suite,
    pooled.judge,
    pooled.judge_criterion,
    pooled.human_criterion,
    pooled.human_rule,
    pooled.against,
    pooled.coefficient,
    counted.benchmarks,
    pooled.n,
    pooled.n_clusters,
    pooled.value as pooled,
    pooled.low as pooled_low,
    pooled.high as pooled_high,
    pooled.reason as pooled_reason,
    pooled.n_undefined as pooled_undefined,
    case when compared.is_best then 'best' else '' end as mark,
    coalesce(averaged.n_cells, case when pooled.value is null then 0 else 1 end) as n_cells,
    case when averaged.suite is null then pooled.value else averaged.value end as mean_of_cells,
    case when averaged.suite is null then pooled.low else averaged.low end as mean_low,
    case when averaged.suite is null then pooled.high else averaged.high end as mean_high,
    case when averaged.suite is null then pooled.reason else averaged.reason end as mean_reason,
    case when averaged.suite is null then pooled.n_undefined else averaged.n_undefined end as mean_undefined,
    pooled.resamples,
    pooled.seed,
    pooled.reported_at
from pooled
inner join counted on pooled.target = counted.target
left join averaged
    on
        pooled.target = averaged.target
        and pooled.judge = averaged.judge
        and pooled.judge_criterion = averaged.judge_criterion
        and pooled.coefficient = averaged.coefficient
left join stg_judge_comparisons as compared
    on
        pooled.suite = compared.suite
        and pooled.benchmark = compared.benchmark
        and compared.model = '*'
        and pooled.judge = compared.judge
        and pooled.judge_criterion = compared.judge_criterion
        and pooled.human_criterion = compared.human_criterion
        and pooled.human_rule = compared.human_rule
        and pooled.against = compared.against
        and pooled.coefficient = compared.coefficient
order by
    pooled.suite asc, pooled.human_criterion asc, pooled.human_rule asc, pooled.coefficient asc, pooled.value desc nulls last, pooled.judge asc,
    pooled.judge_criterion asc
