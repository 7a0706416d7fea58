-- grain: one row per suite x earlier report x figure: what the suite's newest report says beside what that earlier one said; `is_last`: the
-- earlier report is the one before. `has_moved`: `tested` is `paired`: on the `n_paired` answers that were scored both times the difference,
-- `paired_difference`, has an interval without 0; `intervals`: the difference is larger than both intervals together leave to chance (the
-- root of the sum of their squared half widths), `untested_reason` saying why nothing is paired; `hundredth`: a coverage that differs by that
-- much. Null where either has no value or, but for coverages, no interval
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
    -- less is rounding: sums are taken in any order
    case when abs(newest.value - earlier.value) < 1e-9 then 0 else newest.value - earlier.value end as difference,
    paired.n as n_paired,
    paired.difference as paired_difference,
    paired.low as paired_low,
    paired.high as paired_high,
    case
        when newest.figure = 'coverage' then 'hundredth'
        when paired.low is not null then 'paired'
        else 'intervals'
    end as tested,
    paired.reason as untested_reason,
    case
        when newest.figure = 'coverage' then abs(newest.value - earlier.value) >= 0.01
        when paired.low is not null then paired.low > 0 or paired.high < 0
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
left join stg_paired_changes as paired
    on
        newest.suite = paired.suite
        and newest.reported_at = paired.reported_at
        and earlier.reported_at = paired.base_reported_at
        and newest.figure = paired.figure
        and newest.benchmark = paired.benchmark
        and newest.judge = paired.judge
        and newest.model = paired.model
        and newest.criterion = paired.criterion
