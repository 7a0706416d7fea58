-- grain: one row per call: how many verdicts of $judge on $benchmark failed, and the reason that most of them have
with failed as (
    select reason
    from core_scores
    where benchmark = $benchmark and judge = $judge and status = 'failed'
    union all
    select reason
    from core_duels
    where benchmark = $benchmark and judge = $judge and status = 'failed'
)

select
    count(*) as n,
    mode(reason) as reason
from failed
