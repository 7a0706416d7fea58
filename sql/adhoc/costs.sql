-- question: What did each judge cost in calls, tokens and money, run by run?
-- grain: one row per run x judge x model asked; `cost_usd` without the `n_unpriced` replies whose price was not known
-- about: run_id, judge, n_calls, cost_usd
-- option suite: only runs of this suite
with names as (
    select
        judge_id,
        string_agg(distinct alias, ', ' order by alias) as judge
    from raw_judges
    group by judge_id
)

select
    replies.run_id,
    runs.suite,
    runs.started_at,
    coalesce(names.judge, replies.judge_id) as judge,
    replies.requested_model as model,
    count(*) as n_calls,
    sum(replies.prompt_tokens)::bigint as prompt_tokens,
    sum(replies.completion_tokens)::bigint as completion_tokens,
    count(*) filter (where replies.prompt_tokens is null or replies.completion_tokens is null) as n_uncounted,
    min(replies.replied_at) as first_replied_at,
    max(replies.replied_at) as last_replied_at,
    sum(replies.cached_tokens)::bigint as cached_tokens,
    sum(replies.cost_usd) as cost_usd,
    count(*) filter (where replies.cost_usd is null) as n_unpriced
from raw_replies as replies
left join stg_runs as runs on replies.run_id = runs.run_id
left join names on replies.judge_id = names.judge_id
where $suite::varchar is null or runs.suite = $suite
group by replies.run_id, runs.suite, runs.started_at, replies.judge_id, names.judge, replies.requested_model
order by first_replied_at desc, judge asc, model asc
