-- grain: one row per case of a judge of feedbacks: answer content x criterion x the two judges' texts ($feedback_of) x order x sample;
-- one order of an answer's two is drawn by $seed, once: the one in which $judge_id was to see its feedbacks before stays
with feedbacks as (
    select
        answers.benchmark,
        answers.item_id,
        answers.content_digest,
        scores.criterion,
        min(answers.text) as answer,
        min(scores.rationale) filter (where scores.alias = $feedback_of[1]) as feedback_a,
        min(scores.rationale) filter (where scores.alias = $feedback_of[2]) as feedback_b
    from core_scores as scores
    inner join core_answers as answers
        on
            scores.benchmark = answers.benchmark
            and scores.item_id = answers.item_id
            and scores.answer_id = answers.answer_id
    where scores.sample = 0 and scores.status = 'ok' and list_contains($feedback_of, scores.alias)
    group by answers.benchmark, answers.item_id, answers.content_digest, scores.criterion
),

orders as (
    select unnest(['a', 'b']) as shown_first
),

drawn_orders as (
    select
        benchmark,
        item_id,
        content_digest,
        min(shown_first) as shown_first
    from stg_cases
    where judge_id = $judge_id and not $both_orders
    group by benchmark, item_id, content_digest
    having count(distinct shown_first) = 1
),

wanted_criteria as (
    select unnest(flatten($criteria)) as criterion
),

samples as (
    select unnest(range($samples)) as sample
)

select
    contexts.*,
    feedbacks.answer,
    feedbacks.content_digest,
    null::varchar as other_answer,
    left(sha256(feedbacks.feedback_a || chr(31) || feedbacks.feedback_b), 16) as other_digest,
    orders.shown_first,
    [feedbacks.feedback_a, feedbacks.feedback_b] as feedbacks,
    [feedbacks.criterion] as criteria,
    feedbacks.criterion,
    samples.sample
from wanted_contexts as contexts
inner join feedbacks on contexts.benchmark = feedbacks.benchmark and contexts.item_id = feedbacks.item_id
left join drawn_orders
    on
        feedbacks.benchmark = drawn_orders.benchmark
        and feedbacks.item_id = drawn_orders.item_id
        and feedbacks.content_digest = drawn_orders.content_digest
cross join orders
cross join samples
where
    case
        when $rubrics then contexts.rubric_label = feedbacks.criterion
        else feedbacks.criterion in (select wanted_criteria.criterion from wanted_criteria)
    end
    and feedbacks.feedback_a <> feedbacks.feedback_b
    and (
        $both_orders
        or orders.shown_first
        = coalesce(
            drawn_orders.shown_first,
            case when sha256(concat($seed, feedbacks.item_id, feedbacks.content_digest)) < '8' then 'a' else 'b' end
        )
    )
