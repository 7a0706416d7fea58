-- grain: one row per judge of feedbacks x answer x criterion x sample: whose feedback it preferred; people are `human:<annotator>`. Orders
-- that differ are `inconsistent`, as in core_choices; author_a and author_b are the judges that wrote the feedbacks
with judges as (
    select
        *,
        regexp_extract(signature, '\|feedback_of:(\S+) and ([^|]+)', 1) as author_a,
        regexp_extract(signature, '\|feedback_of:(\S+) and ([^|]+)', 2) as author_b
    from core_judges
    where kind = 'judge' and signature like '%|feedback_of:%'
),

duels as (
    select
        judges.judge,
        judges.author_a,
        judges.author_b,
        cases.benchmark,
        cases.item_id,
        cases.content_digest,
        cases.criterion,
        cases.sample,
        coalesce(duels.status, 'not_asked') as status,
        duels.choice,
        duels.preference_b
    from core_pair_cases as cases
    inner join judges on cases.judge_id = judges.judge_id and list_contains(judges.benchmarks, cases.benchmark)
    left join stg_duels as duels
        on
            cases.judge_id = duels.judge_id
            and judges.reading = duels.reading
            and cases.benchmark = duels.benchmark
            and cases.item_id = duels.item_id
            and cases.content_digest = duels.content_digest
            and cases.other_digest = duels.other_digest
            and cases.shown_first = duels.shown_first
            and cases.context_digest = duels.context_digest
            and cases.criterion = duels.criterion
            and cases.sample = duels.sample
),

both_orders as (
    select
        judge,
        author_a,
        author_b,
        benchmark,
        item_id,
        content_digest,
        criterion,
        sample,
        case
            when count(*) filter (where status = 'ok') < count(*) then min(status) filter (where status <> 'ok')
            when count(distinct choice) > 1 then 'inconsistent'
            else 'ok'
        end as status,
        any_value(choice) as choice,
        round_mean(avg(preference_b)) as preference_b
    from duels
    group by judge, author_a, author_b, benchmark, item_id, content_digest, criterion, sample
)

select
    both_orders.judge,
    both_orders.author_a,
    both_orders.author_b,
    both_orders.benchmark,
    both_orders.item_id,
    answers.answer_id,
    answers.model,
    answers.cluster,
    both_orders.criterion,
    both_orders.sample,
    both_orders.status,
    case when both_orders.status = 'ok' then both_orders.choice end as choice,
    case
        when both_orders.status = 'ok' then both_orders.preference_b when both_orders.status = 'inconsistent' then 0.5
    end as preference_b
from both_orders
inner join core_answers as answers
    on
        both_orders.benchmark = answers.benchmark
        and both_orders.item_id = answers.item_id
        and both_orders.content_digest = answers.content_digest
union all by name
select
    'human:' || people.annotator as judge,
    least(people.author_a, people.author_b) as author_a,
    greatest(people.author_a, people.author_b) as author_b,
    people.benchmark,
    people.item_id,
    people.answer_id,
    answers.model,
    answers.cluster,
    people.criterion,
    0 as sample,
    case when people.choice is null then 'missing' else 'ok' end as status,
    case
        when people.author_a <= people.author_b then people.choice
        else case people.choice when 'a' then 'b' when 'b' then 'a' else people.choice end
    end as choice,
    case
        when people.choice = 'tie' then 0.5
        when people.choice is not null then ((people.choice = 'b') = (people.author_a <= people.author_b))::double
    end as preference_b
from stg_feedback_preferences as people
inner join core_answers as answers
    on people.benchmark = answers.benchmark and people.item_id = answers.item_id and people.answer_id = answers.answer_id
