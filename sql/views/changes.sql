-- grain: one row per suite x earlier report x figure: what the suite's newest report says beside what that earlier one said; `is_last`: the
-- earlier report is the one before. `has_moved`: the difference is larger than both intervals together leave to chance (the root of the sum
-- of their squared half widths); of a coverage, a hundredth or more; null where either has no value or, but for coverages, no interval
with ages as (
    select
        suite,
        reported_at,
        row_number() over (partition by suite order by reported_at desc) as age
    from stg_results
    group by suite, reported_at
),

newest as (
    select results.*
    from stg_results as results
    inner join ages on results.suite = ages.suite and results.reported_at = ages.reported_at
    where ages.age = 1
),

earlier as (
    select
        results.*,
        ages.age = 2 as is_last
    from stg_results as results
    inner join ages on results.suite = ages.suite and results.reported_at = ages.reported_at
    where ages.age > 1
)

select
    newest.suite,
    newest.figure,
    newest.benchmark,
    newest.judge,
    newest.model,
    newest.criterion,
    newest.value,
    newest.low,
    newest.high,
    newest.n,
    earlier.value as base_value,
    earlier.low as base_low,
    earlier.high as base_high,
    earlier.n as base_n,
    newest.value - earlier.value as difference,
    case
        when newest.figure = 'coverage' then abs(newest.value - earlier.value) >= 0.01
        else
            abs(newest.value - earlier.value)
            > sqrt(power((newest.high - newest.low) / 2, 2) + power((earlier.high - earlier.low) / 2, 2))
    end as has_moved,
    newest.reported_at,
    newest.run_id,
    earlier.reported_at as base_reported_at,
    earlier.run_id as base_run_id,
    earlier.is_last
from newest
inner join earlier
    on
        newest.suite = earlier.suite
        and newest.figure = earlier.figure
        and newest.benchmark = earlier.benchmark
        and newest.judge = earlier.judge
        and newest.model = earlier.model
        and newest.criterion = earlier.criterion
