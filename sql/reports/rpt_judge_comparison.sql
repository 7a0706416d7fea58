-- grain: one row per benchmark x model x target (criterion, rule) x coefficient x judge and criterion, beside the best of the others;
-- `is_best` only where it beats every other on the rows both scored, corrected for all pairs. `model` '*' is all rows pooled,
-- '(mean of models)' inside the models, '(systems)' the models' means; `benchmark` '*' all benchmarks of one suite, so one per suite too
select
    benchmark,
    model,
    human_criterion,
    human_rule,
    against,
    coefficient,
    judge,
    judge_criterion,
    n,
    n_missing,
    value,
    low,
    high,
    reason,
    least,
    most,
    other,
    other_criterion,
    n_common,
    common_value,
    other_value,
    difference,
    difference_low,
    difference_high,
    difference_reason,
    p_holm,
    n_undefined,
    is_best,
    case when is_best then 'best' else '' end as mark,
    resamples,
    seed,
    reported_at,
    suite
from stg_judge_comparisons
qualify
    rank() over (
        partition by
            benchmark, model, human_criterion, human_rule, against, coefficient,
            case when benchmark = '*' then suite end
        order by reported_at desc, suite asc
    ) = 1
order by
    benchmark asc, model asc, human_criterion asc, human_rule asc, coefficient asc, value desc nulls last, judge asc,
    judge_criterion asc, suite asc
