-- grain: one row per judge or metric x task of MMHE x people's criterion: Kendall's tau-b with people's mean. A judge that rates the criterion
-- itself is compared by that rating, any other by its overall score
with scored as (
    select
        benchmark,
        alias,
        criterion,
        human_criterion,
        judge,
        human
    from scores_with_people
    where benchmark in ('mmhe_reg', 'mmhe_vqa', 'mmhe_vdu', 'mmhe_ic')
    qualify
        criterion = human_criterion
        or (
            criterion = 'overall'
            and not bool_or(criterion = human_criterion) over (partition by benchmark, alias, human_criterion)
        )
)

select
    alias as row_key,
    benchmark || '/' || human_criterion as column_key,
    kendall_tau_b(judge, human) as value,
    count(judge) as n,
    case when count(judge) = 0 then 'no score can be read' else 'one side is the same for all' end as reason
from scored
group by alias, benchmark, human_criterion
