-- grain: one row per suite x alias: the judges and metrics of the suite as it last ran
select
    suite,
    alias,
    kind,
    judge_id,
    reading,
    call_signature,
    reading_signature,
    tasks,
    benchmarks,
    registered_at
from raw_judges
qualify rank() over (partition by suite order by registered_at desc) = 1
