-- grain: one row per benchmark x model x target x coefficient x test on request (`report: tests`) x judge that is compared with the leader of
-- the column, `judge`. What each test assumes: schemas/reports.py, DifferenceTests
select
    benchmark,
    model,
    human_criterion,
    human_rule,
    against,
    coefficient,
    test,
    judge,
    judge_criterion,
    other,
    other_criterion,
    n_common,
    difference,
    statistic,
    degrees,
    p,
    p_holm,
    n_undefined,
    reason,
    resamples,
    seed,
    reported_at,
    suite
from stg_difference_tests
qualify
    rank() over (
        partition by
            benchmark, model, human_criterion, human_rule, against, coefficient, test,
            case when benchmark = '*' then suite end
        order by reported_at desc, suite asc
    ) = 1
order by
    benchmark asc, model asc, human_criterion asc, human_rule asc, coefficient asc, test asc, other asc, other_criterion asc, suite asc
