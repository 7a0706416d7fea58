-- grain: one row: how many replies of a judge under a reading could be read, and how many could not; with $run_id those alone on which verdicts
-- of that run rest. The replies to a case count as read where at least half of its verdicts were
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

cases as (
    select
        reply_digests,
        2 * count(*) filter (where status = 'ok') >= count(*) as is_read
    from outcomes
    where
        judge_id = $judge_id
        and reading = $reading
        and (status = 'ok' or list_contains($unreadable, status))
        and ($run_id is null or run_id = $run_id)
    group by reply_digests
)

select
    coalesce(sum(len(reply_digests)) filter (where is_read), 0)::bigint as n_read,
    coalesce(sum(len(reply_digests)) filter (where not is_read), 0)::bigint as n_unread
from cases
