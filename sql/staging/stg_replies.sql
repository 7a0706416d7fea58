-- grain: one row per judge x request digest x draw: the first reply that came
select
    judge_id,
    request_digest,
    draw,
    text,
    finish_reason,
    refusal,
    top_logprobs,
    requested_model,
    resolved_model,
    prompt_tokens,
    completion_tokens,
    latency_ms,
    run_id,
    replied_at
from raw_replies
qualify row_number() over (partition by judge_id, request_digest, draw order by replied_at asc) = 1
