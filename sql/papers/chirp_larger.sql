-- grain: one row per rater (`human`: the survey's participants) x study: how often the larger of two models is preferred, all criteria together;
-- a tie is half. The size is the language model's (LLM size) or the vision encoder's (VE size)
with sizes as (
    select
        benchmark,
        model,
        case benchmark when 'chirp_ve_size' then vision_encoder_parameters_b else llm_parameters_b end as size
    from models
    where benchmark in ('chirp_llm_size', 'chirp_ve_size')
)

select
    coalesce(names.alias, duels.rater) as row_key,
    duels.benchmark as column_key,
    win_rate(case when b.size > a.size then duels.preference_b else 1 - duels.preference_b end) as value,
    count(duels.preference_b) as n,
    'no preference can be read' as reason
from duels_with_people as duels
inner join sizes as a on duels.benchmark = a.benchmark and duels.model_a = a.model
inner join sizes as b on duels.benchmark = b.benchmark and duels.model_b = b.model and a.size <> b.size
left join core_judge_names as names on duels.rater = names.judge
group by coalesce(names.alias, duels.rater), duels.benchmark
