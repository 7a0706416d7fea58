-- grain: one row per case of a judge of pairs: item context x two contents x order x group of criteria x sample. Equal contents make no pair;
-- of two answers a is the one of the lesser digest, an item's reference ($matchups reference) is always b, and in one order shown first;
-- of other pairs' two orders one is drawn by $seed, once: the one in which $judge_id was to see the pair before stays
with answers as (
    select *
    from stg_answers
    where len($styles) = 0 or list_contains($styles, style)
),

compared as (
    select
        matchups.benchmark,
        matchups.item_id,
        least(a.content_digest, b.content_digest) as content_digest,
        greatest(a.content_digest, b.content_digest) as other_digest,
        case when a.content_digest < b.content_digest then a.text else b.text end as answer,
        case when a.content_digest < b.content_digest then b.text else a.text end as other_answer
    from wanted_matchups as matchups
    inner join answers as a
        on matchups.benchmark = a.benchmark and matchups.item_id = a.item_id and matchups.answer_a = a.answer_id
    inner join answers as b
        on matchups.benchmark = b.benchmark and matchups.item_id = b.item_id and matchups.answer_b = b.answer_id
    where a.content_digest <> b.content_digest
    union all
    select
        answers.benchmark,
        answers.item_id,
        answers.content_digest,
        left(sha256('reference:' || contexts.references[1]), 16) as other_digest,
        answers.text as answer,
        contexts.references[1] as other_answer
    from answers
    inner join wanted_contexts as contexts on answers.benchmark = contexts.benchmark and answers.item_id = contexts.item_id
    where $matchups = 'reference' and len(contexts.references) > 0
),

pairs as (
    select
        benchmark,
        item_id,
        content_digest,
        other_digest,
        min(answer) as answer,
        min(other_answer) as other_answer
    from compared
    group by benchmark, item_id, content_digest, other_digest
),

orders as (
    select unnest(['a', 'b']) as shown_first
),

drawn_orders as (
    select
        benchmark,
        item_id,
        content_digest,
        other_digest,
        min(shown_first) as shown_first
    from stg_cases
    where judge_id = $judge_id and not $both_orders
    group by benchmark, item_id, content_digest, other_digest
    having count(distinct shown_first) = 1
),

criteria_groups as (
    select unnest($criteria) as criteria
),

samples as (
    select unnest(range($samples)) as sample
)

select
    contexts.*,
    pairs.answer,
    pairs.content_digest,
    pairs.other_answer,
    pairs.other_digest,
    orders.shown_first,
    array_slice(contexts.references, 1, 0) as feedbacks,
    criteria_groups.criteria,
    criteria_groups.criteria[1] as criterion,
    samples.sample
from wanted_contexts as contexts
inner join pairs on contexts.benchmark = pairs.benchmark and contexts.item_id = pairs.item_id
left join drawn_orders
    on
        pairs.benchmark = drawn_orders.benchmark
        and pairs.item_id = drawn_orders.item_id
        and pairs.content_digest = drawn_orders.content_digest
        and pairs.other_digest = drawn_orders.other_digest
cross join orders
cross join criteria_groups
cross join samples
where
    $both_orders
    or orders.shown_first
    = case
        when $matchups = 'reference' then 'b'
        when drawn_orders.shown_first is not null then drawn_orders.shown_first
        when sha256(concat($seed, pairs.item_id, pairs.content_digest, pairs.other_digest)) < '8' then 'a'
        else 'b'
    end
