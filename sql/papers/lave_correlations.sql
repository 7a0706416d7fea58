-- grain: one row per judge or metric x data set x answering model, and one per judge of all answers together (`overall`; of the development set
-- `dev/overall`): Spearman's rho with people's score (1 where 4 of 5 say correct, a half where 2 or 3 do, else 0)
with scored as (
    select
        alias,
        benchmark,
        model,
        case when benchmark in ('vqav2_dev', 'vg_qa_dev') then 'dev/overall' else 'overall' end as part,
        judge,
        human_lave
    from scores_with_people
    where benchmark in ('vqav2', 'vg_qa', 'okvqa', 'vqav2_dev', 'vg_qa_dev') and human_criterion = 'correctness'
)

select
    alias as row_key,
    coalesce(benchmark || '/' || model, part) as column_key,
    spearman(judge, human_lave) as value,
    count(judge + human_lave) as n,
    case when count(judge + human_lave) = 0 then 'no score can be read' else 'one side is the same for all' end as reason
from scored
group by grouping sets ((alias, part), (alias, part, benchmark, model))
