-- grain: one row per benchmark x judge or metric that is current there: the name that every report gives it, its alias and its signatures
select
    unnest(benchmarks) as benchmark,
    judge,
    alias,
    kind,
    signature,
    reading_signature,
    judge_id,
    reading
from core_judges
order by benchmark, judge
