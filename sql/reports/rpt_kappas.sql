-- grain: one row per benchmark ('*' all of a suite) x pair of raters x kind of labels x criterion ('*' all) x task, category or style ('*' all;
-- no two of them at once) x chance term: agreement and kappa with intervals, or of raters on scales of unlike spans (chance term `none`)
-- correlations. All criteria, tasks, ... have rows where there are several; a pair has a style that both answers have
select
    benchmark,
    rater_a,
    rater_b,
    kind,
    criterion,
    task,
    category,
    style,
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
    spearman,
    spearman_low,
    spearman_high,
    kendall_tau_b,
    kendall_tau_b_low,
    kendall_tau_b_high,
    reason,
    n_undefined,
    resamples,
    seed,
    reported_at
from stg_kappas
qualify rank() over (partition by benchmark, rater_a, rater_b order by reported_at desc) = 1
order by benchmark, rater_a, rater_b, kind, criterion, task, category, style, chance
