-- grain: one row: the latest reply of a judge under a reading that could not be read, with its verdict's status and reason
with outcomes as (
    select * from stg_verdicts
    union all by name
    select * from stg_duels
    union all by name
    select * from stg_generated_captions
    union all by name
    select * from stg_generated_answers
    union all by name
    select * from core_collected
)

select
    outcomes.status,
    outcomes.reason,
    coalesce(replies.text, '') as text
from outcomes
left join stg_replies as replies
    on outcomes.judge_id = replies.judge_id and outcomes.reply_digests[-1] = replies.request_digest
where outcomes.judge_id = $judge_id and outcomes.reading = $reading and list_contains($unreadable, outcomes.status)
order by outcomes.judged_at desc, outcomes.item_id asc, replies.draw asc
limit 1
