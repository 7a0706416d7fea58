-- grain: one row per suite x judge x criteria x rules x rater x coefficient: the mean of its values in each cell, benchmark x model, without
-- an interval; cells in which the coefficient is undefined are counted and left out
select
    suite,
    judge,
    judge_criterion,
    human_criterion,
    human_rule,
    sample_rule,
    against,
    coefficient,
    count(distinct benchmark) as n_benchmarks,
    count(value) as n_cells,
    count(*) - count(value) as n_undefined_cells,
    cast(sum(n) as bigint) as n,
    avg(value) as value
from stg_correlations
where model not in ('*', '(mean of models)', '(systems)')
group by suite, judge, judge_criterion, human_criterion, human_rule, sample_rule, against, coefficient
order by suite, judge, judge_criterion, human_criterion, human_rule, sample_rule, against, coefficient
