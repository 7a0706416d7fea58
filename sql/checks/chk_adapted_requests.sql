-- warning: the last run that asked sent its requests as its judges say, with nothing that a model does not take or does not heed
-- grain: one row per judge x requested model x what its requests had to do without, of the newest run that has replies
with newest as (
    select max(run_id) as run_id
    from raw_replies
)

select
    replies.judge_id,
    replies.requested_model,
    replies.adapted,
    count(*) as n_replies
from raw_replies as replies
inner join newest on replies.run_id = newest.run_id
where replies.adapted is not null
group by replies.judge_id, replies.requested_model, replies.adapted
order by replies.judge_id, replies.requested_model, replies.adapted
