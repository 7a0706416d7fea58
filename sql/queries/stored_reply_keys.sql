-- grain: one row per stored request x draw of $judge_id (null: of all judges), its key, in the order in which they came; without those on
-- which a verdict rests whose status is to be asked again ($retry, of $reading), unless $run_id itself has asked them
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
),

asked_again as (
    select distinct unnest(reply_digests) as request_digest
    from outcomes
    where judge_id = $judge_id and reading = $reading and list_contains($retry, status)
)

select
    request_digest,
    draw
from stg_replies
where
    ($judge_id is null or judge_id = $judge_id)
    and (run_id = $run_id or request_digest not in (select asked_again.request_digest from asked_again))
order by replied_at, request_digest, draw
