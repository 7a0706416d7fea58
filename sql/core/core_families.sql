-- grain: one row per benchmark x judge of known family x evaluated model: whether the model is the judge itself (`is_self`, dates of
-- snapshots aside) or of its family. A family is what the table `models` says of a name, else the letters with which it begins (`gpt` of
-- openai/gpt-4o-mini); of a recorded judge only where nothing but a version follows them, for its name need not be a model's
with judges as (
    select
        judge,
        kind,
        unnest(benchmarks) as benchmark,
        lower(case kind when 'recorded' then alias else regexp_extract(signature, '\|model:([^|]*)', 1) end) as full_name
    from core_judges
    where kind in ('judge', 'recorded')
),

models as (
    select distinct
        benchmark,
        model,
        lower(model) as full_name
    from core_answers
    where model <> '(unnamed)'
),

named as (
    select
        benchmark,
        judge as subject,
        kind,
        full_name
    from judges
    union all
    select
        benchmark,
        model as subject,
        'model' as kind,
        full_name
    from models
),

shortened as (
    select
        *,
        regexp_replace(regexp_extract(full_name, '[^/]*$'), '[-:@](\d{4}-\d{2}-\d{2}|\d{4,8})$', '') as name
    from named
),

known as (
    select
        benchmark,
        lower(model) as full_name,
        min(lower(family)) as family
    from stg_models
    where family is not null
    group by benchmark, lower(model)
),

families as (
    select
        shortened.benchmark,
        shortened.subject,
        shortened.kind,
        shortened.name,
        coalesce(
            known.family,
            case
                when shortened.kind <> 'recorded' or regexp_full_match(shortened.name, '[a-z]+([-_ .]?v?\d.*)?')
                    then nullif(regexp_extract(shortened.name, '^[a-z]+'), '')
            end
        ) as family
    from shortened
    left join known on shortened.benchmark = known.benchmark and known.full_name in (shortened.full_name, shortened.name)
    qualify row_number() over (partition by shortened.benchmark, shortened.kind, shortened.subject order by known.full_name) = 1
)

select
    judges.benchmark,
    judges.subject as judge,
    judges.family as judge_family,
    models.subject as model,
    models.family as model_family,
    judges.name = models.name as is_self,
    judges.family = models.family as is_family
from families as judges
inner join families as models on judges.benchmark = models.benchmark
where judges.kind <> 'model' and models.kind = 'model' and judges.family is not null and models.family is not null
