-- grain: one row per grader x style of answer, of LLaVA-1.5-7B on the sample of GQA: how often it says what people say (CHIRP, Table 7)
select
    alias || '/' || style as row_key,
    'accuracy' as column_key,
    agreement(judge, human) as value,
    count(judge) as n,
    'no grade can be read' as reason
from scores_with_people
where benchmark = 'gqa_sample' and model = 'llava-1.5-7b' and human_criterion = 'correctness'
group by alias, style
