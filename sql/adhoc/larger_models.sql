-- question: How often does each judge, and how often do people, prefer the larger of two models?
-- grain: one row per benchmark x criterion x rater, `human` being all people together; models of equal or unknown size are left out
-- about: rater, share
-- option benchmark: only this benchmark
-- option size = llm_parameters_b: llm_parameters_b or vision_encoder_parameters_b
with sizes as (
    select
        benchmark,
        model,
        case $size when 'vision_encoder_parameters_b' then vision_encoder_parameters_b else llm_parameters_b end as size
    from models
),

compared as (
    select
        duels.benchmark,
        duels.criterion,
        duels.rater,
        coalesce(names.alias, duels.rater) as alias,
        duels.cluster,
        case when b.size > a.size then duels.preference_b else 1 - duels.preference_b end as preference
    from duels_with_people as duels
    inner join sizes as a on duels.benchmark = a.benchmark and duels.model_a = a.model
    inner join sizes as b on duels.benchmark = b.benchmark and duels.model_b = b.model and a.size <> b.size
    left join core_judge_names as names on duels.rater = names.judge
    where $benchmark::varchar is null or duels.benchmark = $benchmark
),

shares as (
    select
        benchmark,
        criterion,
        rater,
        any_value(alias) as alias,
        win_rate_ci(preference, cluster) as share
    from compared
    group by benchmark, criterion, rater
)

select
    benchmark,
    criterion,
    alias as rater,
    share.value as share,
    share.low as low,
    share.high as high,
    share.n as n,
    share.n_clusters as n_clusters,
    share.n_missing as n_missing,
    share.reason as reason
from shares
order by benchmark asc, criterion asc, share desc, rater asc
