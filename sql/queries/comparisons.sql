-- grain: one row per rater x pair x criterion x sample of one benchmark, between two models; `human` is all annotators' rows together,
-- and an annotator has rows of his own where there are several, at most $most_annotators of them. `side` is the choice as a number
-- (0 is a, 1 is b, half for ties and inconsistent pairs), `preference_b` the share of the win; both are null where there is no preference.
-- `is_surveyed`: people compared the two answers too, under any criterion
with choices as (
    select
        choices.*,
        items.category
    from core_choices as choices
    inner join stg_items as items on choices.benchmark = items.benchmark and choices.item_id = items.item_id
    where choices.benchmark = $benchmark and choices.model_a <> choices.model_b
),

surveyed as (
    select distinct
        item_id,
        answer_a,
        answer_b
    from choices
    where rater like 'human:%'
),

annotators as (
    select
        rater,
        count(*) over () as n_annotators
    from choices
    where rater like 'human:%'
    group by rater
    order by count(*) desc, rater
    limit $most_annotators
),

raters as (
    select * from choices
    where rater not like 'human:%'
    union all by name
    select * from choices
    where rater in (select annotators.rater from annotators where annotators.n_annotators > 1)
    union all by name
    select * replace ('human' as rater) from choices
    where rater like 'human:%'
)

select
    raters.rater,
    raters.criterion,
    raters.item_id,
    coalesce(raters.category, '') as category,
    raters.model_a,
    raters.model_b,
    raters.preference_b,
    case
        when raters.choice = 'a' then 0.0 when raters.choice = 'b' then 1.0 when raters.status in ('ok', 'inconsistent') then 0.5
    end as side,
    surveyed.item_id is not null as is_surveyed,
    dense_rank() over (order by raters.item_id) - 1 as question_code,
    cluster_key($benchmark, raters.cluster) as cluster_key
from raters
left join surveyed
    on raters.item_id = surveyed.item_id and raters.answer_a = surveyed.answer_a and raters.answer_b = surveyed.answer_b
order by
    raters.rater,
    raters.criterion,
    raters.item_id,
    raters.answer_a,
    raters.answer_b,
    raters.sample,
    raters.preference_b,
    raters.model_a
