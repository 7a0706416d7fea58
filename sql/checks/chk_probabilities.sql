-- check: the probabilities of a verdict's levels lie in [0, 1] and sum to 1, and the mass that they held together lies in [0, 1]
-- grain: one row per verdict or duel of which they do not
with distributions as (
    select
        'verdicts' as table_name,
        judge_id,
        benchmark,
        item_id,
        criterion,
        status,
        list_transform(probabilities, lambda part: part.probability) as shares,
        captured_mass,
        run_id
    from raw_verdicts
    where len(probabilities) > 0 or captured_mass is not null
    union all
    select
        'duels' as table_name,
        judge_id,
        benchmark,
        item_id,
        criterion,
        status,
        list_transform(probabilities, lambda part: part.probability) as shares,
        captured_mass,
        run_id
    from raw_duels
    where len(probabilities) > 0 or captured_mass is not null
)

select
    table_name,
    judge_id,
    benchmark,
    item_id,
    criterion,
    status,
    shares,
    list_sum(shares) as total,
    captured_mass,
    run_id
from distributions
where
    (len(shares) > 0 and (list_min(shares) >= 0 and list_max(shares) <= 1 and abs(list_sum(shares) - 1) <= 1e-6) is not true)
    or not (captured_mass between 0 and 1)
