-- grain: one row per run, newest first
select
    run_id,
    suite,
    stage,
    started_at,
    ended_at,
    outcome,
    exit_code,
    n_calls,
    n_replies_reused,
    n_verdicts,
    n_failed,
    prompt_tokens,
    completion_tokens,
    cost_usd,
    seed,
    versions
from stg_runs
order by started_at desc
