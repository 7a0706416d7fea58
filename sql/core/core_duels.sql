-- grain: one row per judge of our own x pair of answers x order x criterion x sample that was wanted; answer_a is the lesser answer_id.
-- A pair with the item's reference has it as b, '(reference)'
with duels as materialized (
    select
        judges.judge,
        judges.judge_id,
        judges.reading,
        judges.benchmarks,
        cases.benchmark,
        cases.item_id,
        cases.content_digest,
        cases.other_digest,
        cases.shown_first,
        cases.criterion,
        cases.sample,
        coalesce(duels.status, 'not_asked') as status,
        duels.choice,
        duels.preference_b,
        duels.score_a,
        duels.score_b,
        duels.rationale,
        duels.reason
    from core_pair_cases as cases
    inner join core_judges as judges
        on
            cases.judge_id = judges.judge_id
            and judges.kind = 'judge'
            and list_contains(judges.benchmarks, cases.benchmark)
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

answers as materialized (
    select core_answers.*
    from core_answers
    semi join duels on core_answers.benchmark = duels.benchmark and core_answers.item_id = duels.item_id
),

between_answers as (
    select
        duels.*,
        a.cluster,
        a.answer_id as answer_a,
        b.answer_id as answer_b,
        a.model as model_a,
        b.model as model_b,
        a.answer_id < b.answer_id as is_in_order
    from duels
    inner join answers as a
        on duels.benchmark = a.benchmark and duels.item_id = a.item_id and duels.content_digest = a.content_digest
    inner join answers as b
        on
            duels.benchmark = b.benchmark
            and duels.item_id = b.item_id
            and duels.other_digest = b.content_digest
            and a.style = b.style
            and a.sample = b.sample
            and (a.model <> b.model or a.model = '(unnamed)')
),

with_reference as (
    select
        duels.*,
        a.cluster,
        a.answer_id as answer_a,
        '(reference)' as answer_b,
        a.model as model_a,
        '(reference)' as model_b,
        true as is_in_order
    from duels
    inner join answers as a
        on duels.benchmark = a.benchmark and duels.item_id = a.item_id and duels.content_digest = a.content_digest
    where duels.other_digest = left(sha256('reference:' || a.references[1]), 16)
),

sided as (
    select * from between_answers
    union all by name
    select * from with_reference
)

select
    judge,
    judge_id,
    reading,
    benchmark,
    item_id,
    case when is_in_order then answer_a else answer_b end as answer_a,
    case when is_in_order then answer_b else answer_a end as answer_b,
    case when is_in_order then model_a else model_b end as model_a,
    case when is_in_order then model_b else model_a end as model_b,
    cluster,
    criterion,
    sample,
    case when is_in_order then shown_first when shown_first = 'a' then 'b' else 'a' end as shown_first,
    status,
    case when is_in_order then choice else case choice when 'a' then 'b' when 'b' then 'a' else choice end end as choice,
    case when is_in_order then preference_b else 1 - preference_b end as preference_b,
    case when is_in_order then score_a else score_b end as score_a,
    case when is_in_order then score_b else score_a end as score_b,
    rationale,
    reason
from sided
