-- question: With which vision encoder is each language model preferred by mean Elo, and how large is it for the language model?
-- grain: one row per benchmark x rater (single people left out) x size of the language model: its best model by mean Elo, as in CHIRP
-- (section 6.3); `warning` says where Elo's order is not that of Bradley-Terry, which is the ranking to read
-- about: rater, llm_parameters_b, vision_encoder_parameters_b, ratio
-- option benchmark: only this benchmark
-- option criterion = overall: the criterion of the comparisons
with rated as (
    select
        rankings.benchmark,
        coalesce(names.alias, rankings.rater) as rater,
        rankings.criterion,
        rankings.model,
        rankings.mean as elo,
        rankings.warning,
        models.llm_parameters_b,
        models.vision_encoder_parameters_b
    from rpt_rankings as rankings
    inner join models on rankings.benchmark = models.benchmark and rankings.model = models.model
    left join core_judge_names as names on rankings.rater = names.judge
    where
        rankings.method = 'elo'
        and rankings.category = '*'
        and rankings.criterion = $criterion
        and ($benchmark::varchar is null or rankings.benchmark = $benchmark)
        and rankings.mean is not null
        and rankings.rater not like 'human:%'
        and models.llm_parameters_b > 0
        and models.vision_encoder_parameters_b > 0
)

select
    benchmark,
    rater,
    criterion,
    llm_parameters_b,
    arg_max(vision_encoder_parameters_b, elo) as vision_encoder_parameters_b,
    arg_max(vision_encoder_parameters_b / llm_parameters_b, elo) as ratio,
    arg_max(model, elo) as model,
    max(elo) as elo,
    count(*) as n_encoders,
    max(warning) as warning
from rated
group by benchmark, rater, criterion, llm_parameters_b
having count(*) > 1
order by benchmark, rater, criterion, llm_parameters_b
