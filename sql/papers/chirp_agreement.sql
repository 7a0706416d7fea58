-- grain: one row per judge x study (LLM size, VE size) x statistic: agreement with the survey's participants on the pairs that they compared,
-- and CHIRP's kappa (appendix C.2.5), all criteria together
with duels as (
    select
        benchmark,
        rater,
        model_a,
        model_b,
        case when choice <> 'inconsistent' then choice end as choice,
        human_choice
    from duels_with_people
    where benchmark in ('chirp_llm_size', 'chirp_ve_size') and rater <> 'human' and human_choice is not null
),

measured as (
    select
        coalesce(names.alias, duels.rater) as row_key,
        duels.benchmark,
        agreement(duels.choice, duels.human_choice) as agreement,
        matchup_kappa(duels.choice, duels.human_choice, duels.model_a, duels.model_b) as kappa,
        count(duels.choice) as n
    from duels
    left join core_judge_names as names on duels.rater = names.judge
    group by coalesce(names.alias, duels.rater), duels.benchmark
)

select
    row_key,
    benchmark || '/agreement' as column_key,
    agreement as value,
    n,
    'no choice can be read' as reason
from measured
union all
select
    row_key,
    benchmark || '/kappa' as column_key,
    kappa as value,
    n,
    'chance alone would always agree' as reason
from measured
