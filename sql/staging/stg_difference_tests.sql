-- grain: one row per suite x benchmark x model x target x coefficient x test x judge that is compared with the leader: the last report's
select
    suite,
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
    resamples,
    seed,
    reported_at
from raw_difference_tests
qualify rank() over (partition by suite order by reported_at desc) = 1
