-- grain: one row per suite x benchmark x pair of raters x criterion x chance term: the last report's
select
    suite,
    benchmark,
    rater_a,
    rater_b,
    criterion,
    chance,
    n,
    n_clusters,
    n_inconsistent,
    agreement,
    agreement_low,
    agreement_high,
    kappa,
    kappa_low,
    kappa_high,
    strength,
    n_undefined,
    resamples,
    seed,
    reported_at
from raw_kappas
qualify rank() over (partition by suite order by reported_at desc) = 1
