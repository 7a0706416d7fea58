-- grain: one row per way of grading x sample (GQA, TextVQA), over the models of the LLM size study: how often it says what people say (CHIRP,
-- Figures 4 and 14)
select
    case when alias like 'strings-%' then 'strings' else alias end || '/' || style as row_key,
    benchmark as column_key,
    agreement(judge, human) as value,
    count(judge) as n,
    'no grade can be read' as reason
from scores_with_people
where
    benchmark in ('gqa_sample', 'textvqa_sample')
    and human_criterion = 'correctness'
    and model like 'pythia-%\_vit-g' escape '\'
    and alias in ('strings-' || split_part(benchmark, '_', 1), 'llm', 'gpt4v', 'cascade')
group by alias, style, benchmark
