-- grain: one row per judge_id x reading that is current in some suite or recorded by others; `judge` is its name in reports, `is_0_1` whether
-- its scores are from 0 to 1: of judges always, of metrics by what they are; null of others' metrics, of which only their scores show it
with judges as (
    select * from stg_judges
),

merged as (
    select
        judge_id,
        reading,
        any_value(kind) as kind,
        arg_max(alias, registered_at) as alias,
        any_value(call_signature) as call_signature,
        any_value(reading_signature) as reading_signature,
        any_value(tasks) as tasks,
        list_distinct(flatten(list(benchmarks))) as benchmarks,
        max(registered_at) as registered_at
    from judges
    group by judge_id, reading
),

recorded as (
    select
        'recorded' as kind,
        judge as name,
        benchmark
    from stg_recorded_verdicts
    union
    select
        'recorded' as kind,
        judge as name,
        benchmark
    from stg_recorded_duels
    union
    select
        'recorded_metric' as kind,
        metric as name,
        benchmark
    from stg_recorded_scores
),

scales as (
    select
        unnest(['vqa_accuracy', 'vqa_accuracy_raw', 'soft_vqa_accuracy', 'exact_match', 'token_f1', 'bleu', 'rouge', 'meteor']) as metric,
        true as is_0_1
    union all
    -- cosines go down to -1, log-likelihoods are below 0, CLIPScore goes up to 2.5 and CIDEr to 10
    select
        unnest(['cider', 'sbert_score', 'bert_score', 'bart_score', 'clip_score', 'ref_clip_score']) as metric,
        false as is_0_1
)

select
    judge_id,
    reading,
    kind,
    alias,
    case
        when kind = 'metric' then 'metric:' || call_signature
        when count(*) over (partition by kind, alias) > 1 or alias in (select name from recorded)
            then alias || '@' || judge_id || '/' || reading
        else alias
    end as judge,
    call_signature as signature,
    reading_signature,
    tasks,
    benchmarks,
    registered_at,
    case when kind = 'metric' then scales.is_0_1 else true end as is_0_1
from merged
left join scales on split_part(merged.call_signature, '|', 1) = scales.metric
union all
select
    substr(sha256(kind || ':' || name), 1, 16) as judge_id,
    'recorded' as reading,
    kind,
    name as alias,
    case when kind = 'recorded_metric' then 'metric:' || name else name end as judge,
    kind || ':' || name as signature,
    '' as reading_signature,
    null as tasks,
    list(distinct benchmark order by benchmark) as benchmarks,
    null as registered_at,
    case when kind = 'recorded' then true when any_value(scales.is_0_1) = false then false end as is_0_1
from recorded
left join scales on recorded.name = scales.metric
group by kind, name
