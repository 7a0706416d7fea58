-- grain: one row per judge that was trained in this lake x part of its steps: the mean loss of a token, in nats
-- (at most 200 parts, as equal as they can be; of fewer steps each is a part)
with parts as (
    select
        judge,
        benchmarks,
        losses,
        n_steps,
        least(n_steps, 200) as n_parts,
        unnest(range(1, least(n_steps, 200) + 1)) as part
    from core_trainings
)

select
    judge,
    benchmarks,
    part,
    n_steps * (part - 1) // n_parts + 1 as step_from,
    n_steps * part // n_parts as step_to,
    list_avg(losses[n_steps * (part - 1) // n_parts + 1:n_steps * part // n_parts]) as loss
from parts
order by judge, part
