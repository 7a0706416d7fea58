-- grain: one row per benchmark x criterion x rater of scores: `span`, how far apart the ends of its scale are in its own ratings (4 for 1 to
-- 5), null where no two ratings differ or scores are no straight line of ratings. Raters of unlike spans give no common labels: 0.5 is the
-- middle of 1 to 3 and no level of 1 to 4
select
    benchmark,
    criterion,
    judge as rater,
    case when regr_r2(rating, score_0_1) between 0.999999 and 1.000001 then round(regr_slope(rating, score_0_1), 4) end as span
from core_scores
where status = 'ok' and judge not like 'metric:%'
group by benchmark, criterion, judge
union all
select
    benchmark,
    criterion,
    'human:' || annotator as rater,
    round(max(scale_high - scale_low), 4) as span
from stg_human_ratings
group by benchmark, criterion, annotator
