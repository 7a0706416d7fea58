-- grain: one row per suite x benchmark x judge x its criterion x people's criterion: the last report's
select
    suite,
    benchmark,
    judge,
    judge_criterion,
    human_criterion,
    n_choices,
    n,
    n_ties,
    n_missing,
    n_clusters,
    accuracy,
    low,
    high,
    n_undefined,
    resamples,
    seed,
    reported_at
from raw_choice_accuracies
qualify rank() over (partition by suite order by reported_at desc) = 1
