-- warning: all replies of a judge's model came from one snapshot of it
-- grain: one row per judge x requested model x snapshot that answered, where there are several
select
    judge_id,
    requested_model,
    resolved_model,
    count(*) as n_replies,
    min(replied_at) as first_replied_at,
    max(replied_at) as last_replied_at
from raw_replies
group by judge_id, requested_model, resolved_model
qualify count(*) over (partition by judge_id, requested_model) > 1
order by judge_id, requested_model, first_replied_at
