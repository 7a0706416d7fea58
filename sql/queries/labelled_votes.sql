-- grain: one row per case of a jury (jury_votes) that people labelled: their mean score, and each member's mean score, null where it has none.
-- A jury's criterion is learnt on people's of the same name, and where a benchmark has none of that name on the mean of theirs
with labels as (
    select
        answers.benchmark,
        answers.item_id,
        answers.content_digest,
        human.criterion,
        human.score_0_1
    from core_human as human
    inner join stg_answers as answers
        on
            human.benchmark = answers.benchmark
            and human.item_id = answers.item_id
            and human.answer_id = answers.answer_id
    where human.human_rule = 'mean'
),

votes as (
    select
        * exclude (votes),
        list_transform(votes, lambda vote: list_avg(vote.scores)) as scores
    from jury_votes
),

judged as (
    select distinct
        benchmark,
        criterion
    from votes
),

rated as (
    select distinct
        benchmark,
        criterion
    from labels
),

compared as (
    select
        judged.benchmark,
        judged.criterion,
        rated.criterion as human_criterion
    from judged
    inner join rated on judged.benchmark = rated.benchmark
    qualify
        judged.criterion = rated.criterion
        or not bool_or(judged.criterion = rated.criterion) over (partition by judged.benchmark, judged.criterion)
)

select
    votes.benchmark,
    votes.item_id,
    votes.content_digest,
    votes.criterion,
    any_value(votes.scores) as scores,
    round_mean(avg(labels.score_0_1)) as label
from votes
inner join compared on votes.benchmark = compared.benchmark and votes.criterion = compared.criterion
inner join labels
    on
        votes.benchmark = labels.benchmark
        and votes.item_id = labels.item_id
        and votes.content_digest = labels.content_digest
        and compared.human_criterion = labels.criterion
group by votes.benchmark, votes.item_id, votes.content_digest, votes.criterion
order by votes.criterion, votes.benchmark, votes.item_id, votes.content_digest
