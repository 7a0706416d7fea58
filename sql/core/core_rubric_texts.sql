-- grain: one row per distinct rubric that a collector made; equal texts have the same id
select
    rubric_id,
    any_value(description) as description,
    any_value(levels) as levels,
    any_value(keywords) as keywords,
    any_value(kind) as kind
from stg_collected_rubrics
where status = 'ok'
group by rubric_id
