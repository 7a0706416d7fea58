-- grain: one row per benchmark x criterion x rater of scores: `span`, how far apart the ends of its scale are in its own ratings (4 for 1 to
-- 5), which all ratings that differ show, else what the judge or its record declares; null where scores are no straight line of ratings.
-- Raters of unlike spans give no common labels: 0.5 is the middle of 1 to 3 and no level of 1 to 4
with ended as (
    select
        judge,
        regexp_extract(reading_signature, '(?:^|\|)scale:([0-9.]+)-([0-9.]+)(?:\||$)', ['low', 'high']) as ends
    from core_judges
    where kind = 'judge'
),

declared as (
    select
        judge,
        null as benchmark,
        null as criterion,
        try_cast(ends['high'] as double) - try_cast(ends['low'] as double) as span
    from ended
    union all by name
    select
        judges.judge,
        verdicts.benchmark,
        verdicts.criterion,
        max(verdicts.scale_high - verdicts.scale_low) as span
    from stg_recorded_verdicts as verdicts
    inner join core_judges as judges on verdicts.judge = judges.alias and judges.kind = 'recorded'
    group by judges.judge, verdicts.benchmark, verdicts.criterion
),

shown as (
    select
        benchmark,
        criterion,
        judge,
        min(rating) = max(rating) as is_one_rating,
        case when regr_r2(rating, score_0_1) between 0.999999 and 1.000001 then round(regr_slope(rating, score_0_1), 4) end as span
    from core_scores
    where status = 'ok' and judge not like 'metric:%'
    group by benchmark, criterion, judge
)

select
    shown.benchmark,
    shown.criterion,
    shown.judge as rater,
    case when any_value(shown.is_one_rating) then round(any_value(declared.span), 4) else any_value(shown.span) end as span
from shown
left join declared
    on
        shown.judge = declared.judge
        and coalesce(declared.benchmark, shown.benchmark) = shown.benchmark
        and coalesce(declared.criterion, shown.criterion) = shown.criterion
group by shown.benchmark, shown.criterion, shown.judge
union all
select
    benchmark,
    criterion,
    'human:' || annotator as rater,
    round(max(scale_high - scale_low), 4) as span
from stg_human_ratings
group by benchmark, criterion, annotator
