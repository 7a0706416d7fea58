-- check: within one reading of a judge equal ratings have equal scores, and a higher rating never a lower score
-- grain: one row per judge x reading x criterion x rating whose score is not that of the rating, or below that of a lower rating
with levels as (
    select
        judge_id,
        reading,
        criterion,
        rating,
        min(score_0_1) as lowest,
        max(score_0_1) as highest,
        count(*) as n
    from raw_verdicts
    where status = 'ok'
    group by judge_id, reading, criterion, rating
),

compared as (
    select
        *,
        max(highest) over (
            partition by judge_id, reading, criterion
            order by rating
            rows between unbounded preceding and 1 preceding
        ) as highest_below
    from levels
)

select
    judge_id,
    reading,
    criterion,
    rating,
    lowest,
    highest,
    highest_below,
    n
from compared
where highest - lowest > 1e-9 or lowest < highest_below - 1e-9
