-- grain: one row per judge x model asked: how long its replies were and took
select
    judge_id,
    requested_model as model,
    count(*) as n,
    avg(completion_tokens) as mean_completion_tokens,
    median(latency_ms) as median_latency_ms
from raw_replies
group by judge_id, requested_model
order by judge_id, model
