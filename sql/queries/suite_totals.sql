-- grain: one row per suite: its last run, and what all its runs did together; no cost where that of one is not known
select
    suite,
    count(*) as n_runs,
    arg_max(run_id, started_at) as last_run,
    max(started_at) as last_started_at,
    arg_max(outcome, started_at) as last_outcome,
    sum(n_calls)::bigint as n_calls,
    sum(n_verdicts)::bigint as n_verdicts,
    case when count(cost_usd) = count(*) then sum(cost_usd) end as cost_usd
from stg_runs
group by suite
order by suite
