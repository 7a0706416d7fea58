-- grain: one row per run: what was last written of it (`running` or `reporting` while it runs, `lost` where the next run found it killed)
select
    run_id,
    suite,
    suite_digest,
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
from raw_runs
qualify row_number() over (partition by run_id order by ended_at desc) = 1
