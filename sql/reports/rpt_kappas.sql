-- grain: one row per benchmark x pair of raters x criterion x chance term: agreement and kappa with intervals, as last reported
select
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
    agreement_reason,
    kappa,
    kappa_low,
    kappa_high,
    kappa_reason,
    strength,
    n_undefined,
    resamples,
    seed,
    reported_at
from stg_kappas
qualify rank() over (partition by benchmark, rater_a, rater_b order by reported_at desc) = 1
order by benchmark, rater_a, rater_b, criterion, chance
