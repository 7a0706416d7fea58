-- grain: one row per benchmark x judge x its criterion x human criterion x coefficient, where people rated two criteria and more (HarmonicEval,
-- Table 3): all models pooled, mean of annotators; `mark` names the criterion that the judge's agrees with most, and least
with ranked as (
    select
        benchmark,
        judge,
        judge_criterion,
        human_criterion,
        coefficient,
        n,
        n_clusters,
        value,
        low,
        high,
        reason,
        reported_at,
        count(*) over criteria as n_criteria,
        rank() over (criteria order by value desc) as place,
        rank() over (criteria order by value asc) as place_from_below
    from rpt_correlation
    where
        benchmark <> '*'
        and model = '*'
        and (task, category, style) = ('*', '*', '*')
        and against = 'human'
        and human_rule = 'mean'
        and sample_rule = 'mean'
        and value is not null
    window criteria as (partition by benchmark, judge, judge_criterion, coefficient)
)

select
    benchmark,
    judge,
    judge_criterion,
    human_criterion,
    judge_criterion = human_criterion as is_same_criterion,
    coefficient,
    n,
    n_clusters,
    value,
    low,
    high,
    reason,
    case when place = 1 then 'most' when place_from_below = 1 then 'least' else '' end as mark,
    reported_at
from ranked
where n_criteria > 1
order by benchmark, judge, judge_criterion, coefficient, human_criterion
