-- check: every rating lies within its scale
-- grain: one row per rating of a person, a recorded judge or a judge of our own that does not
-- A judge of our own states its scale in its reading signature; one that states none is not checked.
with scales as (
    select
        judge_id,
        reading,
        any_value(regexp_extract(reading_signature, '(?:^|\|)scale:([0-9.]+)-([0-9.]+)(?:\||$)', 1))::double as scale_low,
        any_value(regexp_extract(reading_signature, '(?:^|\|)scale:([0-9.]+)-([0-9.]+)(?:\||$)', 2))::double as scale_high
    from raw_judges
    where regexp_matches(reading_signature, '(?:^|\|)scale:[0-9.]+-[0-9.]+(?:\||$)')
    group by judge_id, reading
),

ratings as (
    select
        'human_ratings' as table_name,
        benchmark,
        item_id,
        answer_id as subject,
        criterion,
        annotator as rater,
        rating,
        scale_low,
        scale_high
    from stg_human_ratings
    union all
    select
        'recorded_verdicts' as table_name,
        benchmark,
        item_id,
        answer_id as subject,
        criterion,
        judge as rater,
        rating,
        scale_low,
        scale_high
    from stg_recorded_verdicts
    where status = 'ok'
    union all
    select
        'verdicts' as table_name,
        verdicts.benchmark,
        verdicts.item_id,
        verdicts.content_digest as subject,
        verdicts.criterion,
        verdicts.judge_id as rater,
        verdicts.rating,
        scales.scale_low,
        scales.scale_high
    from raw_verdicts as verdicts
    inner join scales on verdicts.judge_id = scales.judge_id and verdicts.reading = scales.reading
    where verdicts.status = 'ok'
)

select *
from ratings
where (rating between scale_low and scale_high) is not true
