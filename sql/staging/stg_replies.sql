-- grain: one row per judge x request digest x draw: the latest reply, which is another than the first only where it was asked again on request
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
    cached_tokens,
    cost_usd,
    adapted,
    run_id,
    replied_at
from raw_replies
qualify row_number() over (partition by judge_id, request_digest, draw order by replied_at desc, run_id desc) = 1
