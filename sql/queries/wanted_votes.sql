-- grain: one row per case of a jury: jury_votes of the items in wanted_contexts, of contents that are still there, with the learnt weights
-- (jury_weights; an item without labels has those that no item is named for). The case's context is a digest of its votes
with contents as (
    select
        benchmark,
        item_id,
        content_digest,
        min(text) as answer
    from stg_answers
    group by benchmark, item_id, content_digest
),

weighted as (
    select
        votes.*,
        case when own.item_id is null then others.weights else own.weights end as weights
    from jury_votes as votes
    left join jury_weights as own
        on votes.benchmark = own.benchmark and votes.item_id = own.item_id and votes.criterion = own.criterion
    left join jury_weights as others on others.item_id is null and votes.criterion = others.criterion
),

digested as (
    select
        *,
        left(
            sha256(
                array_to_string(
                    list_transform(votes, lambda vote: concat_ws(' ', vote.status, array_to_string(vote.scores, ' '))), chr(31)
                )
                || coalesce(chr(30) || array_to_string(weights, ' '), '')
            ),
            16
        ) as votes_digest
    from weighted
)

select
    contexts.* replace (votes.votes_digest as context_digest),
    contents.answer,
    votes.content_digest,
    case
        when others.answer is not null then others.answer
        when votes.other_digest = left(sha256('reference:' || contexts.references[1]), 16) then contexts.references[1]
    end as other_answer,
    votes.other_digest,
    votes.shown_first,
    array_slice(contexts.references, 1, 0) as feedbacks,
    [votes.criterion] as criteria,
    votes.criterion,
    0 as sample,
    votes.votes,
    votes.weights
from wanted_contexts as contexts
inner join digested as votes on contexts.benchmark = votes.benchmark and contexts.item_id = votes.item_id
inner join contents
    on
        votes.benchmark = contents.benchmark
        and votes.item_id = contents.item_id
        and votes.content_digest = contents.content_digest
left join contents as others
    on
        votes.benchmark = others.benchmark
        and votes.item_id = others.item_id
        and votes.other_digest = others.content_digest
where votes.other_digest = '' or other_answer is not null
