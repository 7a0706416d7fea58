-- grain: one row per stored request x draw among the requests $digests of $judge_id (null: of all judges), the latest reply
-- not from stg_replies: there the latest reply is found before these few are picked, over all that a judge ever got
select
    request_digest,
    draw,
    text,
    finish_reason,
    refusal,
    top_logprobs,
    resolved_model,
    prompt_tokens,
    completion_tokens,
    latency_ms
from raw_replies
where
    ($judge_id is null or judge_id = $judge_id)
    and request_digest in (select unnest($digests::varchar[]))
qualify row_number() over (partition by request_digest, draw order by replied_at desc, run_id desc) = 1
