-- question: How long does each model take to answer?
-- grain: one row per model asked x snapshot that answered, over all judges; milliseconds, and tokens a second of the median reply
-- about: model, median_ms
-- option run: only replies of this run
select
    requested_model as model,
    resolved_model as snapshot,
    count(*) as n,
    count(latency_ms) as n_timed,
    quantile_cont(latency_ms, 0.5) as median_ms,
    quantile_cont(latency_ms, 0.9) as p90_ms,
    quantile_cont(latency_ms, 0.99) as p99_ms,
    max(latency_ms) as max_ms,
    median(1000 * completion_tokens / nullif(latency_ms, 0)) as tokens_per_second
from raw_replies
where $run::varchar is null or run_id = $run
group by requested_model, resolved_model
order by model asc, snapshot asc
