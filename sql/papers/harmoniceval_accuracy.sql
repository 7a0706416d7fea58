-- grain: one row per judge or metric x task of MMHE: how often its overall score is higher for the text that people chose as the best of three
-- (HarmonicEval, appendix D.3; a tie is half), and the mean over the four tasks where it has all
with accuracies as (
    select
        metric as row_key,
        benchmark as column_key,
        accuracy as value,
        n,
        reason
    from rpt_choice_accuracy
    where
        benchmark in ('mmhe_reg', 'mmhe_vqa', 'mmhe_vdu', 'mmhe_ic')
        and (task, category) = ('*', '*')
        and judge_criterion = 'overall'
        and human_criterion = 'overall'
),

means as (
    select
        row_key,
        'mean' as column_key,
        case when count(value) = 4 then avg(value) end as value,
        sum(n)::bigint as n,
        case when count(value) < 4 then 'the average is over all four tasks' end as reason
    from accuracies
    group by row_key
)

select
    row_key,
    column_key,
    value,
    n,
    reason
from accuracies
union all
select
    row_key,
    column_key,
    value,
    n,
    reason
from means
