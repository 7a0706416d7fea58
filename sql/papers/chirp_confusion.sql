-- grain: one row per grader x style of LLaVA-1.5-7B's answers on the sample of GQA x cell: how many answers that people call right or wrong it
-- calls right or wrong (CHIRP, Figure 13)
with graded as (
    select
        alias || '/' || style as grader,
        count(*) filter (where human > 0.5 and judge > 0.5) as true_right,
        count(*) filter (where human > 0.5 and judge <= 0.5) as false_wrong,
        count(*) filter (where human <= 0.5 and judge > 0.5) as false_right,
        count(*) filter (where human <= 0.5 and judge <= 0.5) as true_wrong
    from scores_with_people
    where benchmark = 'gqa_sample' and model = 'llava-1.5-7b' and human_criterion = 'correctness'
    group by alias, style
)

select
    grader as row_key,
    cell as column_key,
    how_many as value,
    how_many as n,
    null as reason
from graded
unpivot (how_many for cell in (true_right, false_wrong, false_right, true_wrong))
