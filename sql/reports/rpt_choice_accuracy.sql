-- grain: one row per benchmark x judge or metric x its criterion x people's criterion: how often it scores the answer that people chose as
-- the best of several higher than one that lost, as last reported. `n` pairs winner-loser of `n_choices`; a tie of the judge is half
with reported as (
    select * from stg_choice_accuracies
    qualify rank() over (partition by benchmark, judge order by reported_at desc) = 1
),

names as (
    select
        judge,
        any_value(alias) as alias
    from core_judges
    group by judge
)

select
    reported.benchmark,
    coalesce(names.alias, reported.judge) as metric,
    reported.judge_criterion,
    reported.human_criterion,
    reported.n_choices,
    reported.n,
    reported.n_ties,
    reported.n_missing,
    reported.n_clusters,
    reported.accuracy,
    reported.low,
    reported.high,
    reported.reason,
    reported.judge,
    reported.n_undefined,
    reported.resamples,
    reported.seed,
    reported.reported_at
from reported
left join names on reported.judge = names.judge
order by reported.benchmark, metric, reported.judge_criterion, reported.human_criterion
