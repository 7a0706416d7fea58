-- question: What was asked more than once, and were the replies the same?
-- grain: one row per judge x request with several replies, those that differ most first
-- about: judge, n_replies, n_distinct_texts
-- option n = 50: how many rows
with names as (
    select
        judge_id,
        string_agg(distinct alias, ', ' order by alias) as judge
    from raw_judges
    group by judge_id
)

select
    coalesce(any_value(names.judge), replies.judge_id) as judge,
    replies.request_digest,
    count(*) as n_replies,
    count(distinct replies.draw) as n_draws,
    count(distinct replies.text) as n_distinct_texts,
    count(distinct replies.resolved_model) as n_snapshots,
    sum(replies.prompt_tokens + replies.completion_tokens)::bigint as tokens,
    list(distinct left(replies.text, 200) order by left(replies.text, 200))[:5] as texts
from raw_replies as replies
left join names on replies.judge_id = names.judge_id
group by replies.judge_id, replies.request_digest
having count(*) > 1
order by n_distinct_texts desc, n_replies desc, judge asc, replies.request_digest asc
limit $n::bigint
