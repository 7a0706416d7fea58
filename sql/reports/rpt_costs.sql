-- grain: one row per judge that was asked, over all runs and readings: its verdicts (every attempt), and what its replies took and cost;
-- `cost_usd` and the cost of 1,000 verdicts are null where the price of some reply was not known
with spent as (
    select
        judge_id,
        string_agg(distinct requested_model, ', ' order by requested_model) as model,
        count(*) as n_calls,
        sum(prompt_tokens)::bigint as prompt_tokens,
        sum(completion_tokens)::bigint as completion_tokens,
        sum(cached_tokens)::bigint as cached_tokens,
        case when bool_and(cost_usd is not null) then sum(cost_usd) end as cost_usd
    from raw_replies
    group by judge_id
),

outcomes as (
    select
        judge_id,
        benchmark
    from raw_verdicts
    union all
    select
        judge_id,
        benchmark
    from raw_duels
    union all
    select
        judge_id,
        benchmark
    from raw_generated_captions
    union all
    select
        judge_id,
        benchmark
    from raw_generated_answers
    union all
    select
        judge_id,
        benchmark
    from raw_collected_rubrics
    union all
    select
        judge_id,
        benchmark
    from raw_collected_instructions
    union all
    select
        judge_id,
        benchmark
    from raw_collected_responses
    union all
    select
        judge_id,
        benchmark
    from raw_augmented_items
),

counts as (
    select
        judge_id,
        benchmark,
        count(*) as n
    from outcomes
    group by judge_id, benchmark
),

judged as (
    select
        judge_id,
        list(benchmark order by benchmark) as benchmarks,
        sum(n)::bigint as n_verdicts
    from counts
    group by judge_id
),

names as (
    select
        judge_id,
        arg_max(alias, registered_at) as judge
    from raw_judges
    group by judge_id
)

select
    coalesce(names.judge, spent.judge_id) as judge,
    spent.judge_id,
    spent.model,
    coalesce(judged.benchmarks, []) as benchmarks,
    coalesce(judged.n_verdicts, 0) as n_verdicts,
    spent.n_calls,
    spent.prompt_tokens,
    spent.completion_tokens,
    spent.cached_tokens,
    spent.cost_usd,
    1000 * spent.cost_usd / judged.n_verdicts as cost_usd_per_1000
from spent
left join judged on spent.judge_id = judged.judge_id
left join names on spent.judge_id = names.judge_id
order by judge, spent.judge_id
