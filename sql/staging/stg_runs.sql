-- grain: one row per run
select
    run_id,
    suite,
    suite_digest,
    stage,
    started_at,
    ended_at,
    outcome,
    n_calls,
    n_replies_reused,
    n_verdicts,
    n_failed,
    prompt_tokens,
    completion_tokens,
    seed,
    versions
from raw_runs
