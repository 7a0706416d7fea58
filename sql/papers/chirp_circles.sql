-- grain: one row per question of the LLM size study: what the survey's participants preferred overall, an arrow to the preferred model, and a
-- circle of it where there is one, of the fewest models, named from the first one in the alphabet; those with a circle first (CHIRP, Figure 23)
with recursive edges as (
    select distinct
        item_id,
        case when preference_b > 0.5 then model_a else model_b end as worse,
        case when preference_b > 0.5 then model_b else model_a end as better
    from duels_with_people
    where
        benchmark = 'chirp_llm_size'
        and rater = 'human'
        and criterion = 'overall'
        and preference_b is not null
        and preference_b <> 0.5
),

paths as (
    select
        item_id,
        [worse, better] as models
    from edges
    where better > worse
    union all
    select
        paths.item_id,
        list_append(paths.models, edges.better) as models
    from paths
    inner join edges on paths.item_id = edges.item_id and paths.models[-1] = edges.worse
    where
        paths.models[1] <> paths.models[-1]
        and edges.better >= paths.models[1]
        and (edges.better = paths.models[1] or not list_contains(paths.models, edges.better))
),

circles as (
    select
        item_id,
        arg_min(models, len(models)) as circle
    from paths
    where models[1] = models[-1]
    group by item_id
),

drawn as (
    select
        item_id,
        list(worse || ' → ' || better order by worse, better) as preferences
    from edges
    group by item_id
)

select
    drawn.item_id as question_id,
    drawn.preferences,
    array_to_string(circles.circle, ' → ') as circle
from drawn
left join circles on drawn.item_id = circles.item_id
order by circles.circle is null, drawn.item_id
