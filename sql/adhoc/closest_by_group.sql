-- question: Which judge would you trust for short answers, which for long ones, and which for each task?
-- grain: one row per benchmark x people's criterion x group of answers x judge: Spearman's correlation with people's mean over the answers of
-- the group, all models together; of a judge with several criteria that of the same name counts, else `overall`, else the first
-- about: group_name, judge, value
-- option benchmark: only this benchmark
-- option by = style: what a group is: style, task, category or model
-- option chosen: only the group of this name, such as short
with grouped as (
    select
        *,
        case $by when 'style' then style when 'task' then task when 'category' then category else model end as group_name
    from scores_with_people
    where ($benchmark::varchar is null or benchmark = $benchmark) and judge is not null
    qualify
        dense_rank() over (
            partition by benchmark, human_criterion, judge_name
            order by criterion = human_criterion desc, criterion = 'overall' desc, criterion asc
        ) = 1
),

correlated as (
    select
        benchmark,
        human_criterion,
        group_name,
        judge_name,
        any_value(alias) as alias,
        spearman_ci(judge, human, cluster) as rho,
        avg(judge) as mean_of_judge,
        avg(human) as mean_of_people
    from grouped
    where $chosen::varchar is null or group_name = $chosen
    group by benchmark, human_criterion, group_name, judge_name
)

select
    benchmark,
    human_criterion,
    group_name,
    rank() over (partition by benchmark, human_criterion, group_name order by rho.value desc nulls last) as place,
    alias as judge,
    rho.value as value,
    rho.low as low,
    rho.high as high,
    mean_of_judge,
    mean_of_people,
    rho.reason as reason,
    rho.n as n,
    rho.n_clusters as n_clusters
from correlated
order by benchmark asc, human_criterion asc, group_name asc, place asc, judge asc
