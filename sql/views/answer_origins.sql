-- grain: one row per answer that an answerer of a suite, as it last ran, was to generate: who generated it, how, and what it took; `ok` ones
-- are in `answers` while their item has the same prompt
with registered as (
    select *
    from raw_judges
    qualify rank() over (partition by suite order by registered_at desc) = 1
),

answerers as (
    select
        judge_id,
        reading,
        min(alias) as answerer,
        min(call_signature) as call_signature,
        list_distinct(flatten(list(benchmarks))) as benchmarks
    from registered
    where kind = 'answerer'
    group by judge_id, reading
)

select
    answers.benchmark,
    answers.item_id,
    answers.judge_id || '/' || answers.sample as answer_id,
    answerers.answerer,
    answers.model,
    answers.style,
    answers.sample,
    answers.status,
    answers.text,
    answers.reason,
    regexp_extract(answerers.call_signature, '\|backend:([^|]*)', 1) as backend,
    replies.requested_model,
    replies.resolved_model,
    regexp_extract(answerers.call_signature, '\|prompt:([^|]*)', 1) as prompt_digest,
    answerers.call_signature,
    replies.prompt_tokens,
    replies.completion_tokens,
    replies.cost_usd,
    replies.latency_ms,
    answers.run_id,
    answers.judged_at,
    answers.judge_id,
    answers.reading,
    answers.reply_digests
from stg_generated_answers as answers
inner join answerers
    on
        answers.judge_id = answerers.judge_id
        and answers.reading = answerers.reading
        and list_contains(answerers.benchmarks, answers.benchmark)
left join stg_replies as replies
    on
        answers.judge_id = replies.judge_id
        and answers.reply_digests[1] = replies.request_digest
        and answers.sample = replies.draw
