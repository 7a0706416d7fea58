-- grain: one row per judge or metric x its criterion x people's criterion x choice x answer that lost it, of one benchmark; scores are means
-- of a judge's samples, null where it has none. Criteria are compared as in core_rated_scores: of the same name, else with each of people's
with choices as (
    select
        row_number() over (order by item_id, choice_set, criterion, annotator) as choice_code,
        item_id,
        criterion as human_criterion,
        chosen,
        answers
    from stg_choice_sets
    where benchmark = $benchmark and chosen is not null
),

pairs as (
    select
        choice_code,
        item_id,
        human_criterion,
        chosen as winner,
        unnest(list_filter(answers, lambda answer: answer <> chosen)) as loser
    from choices
),

offered as (
    select
        item_id,
        winner as answer_id
    from pairs
    union
    select
        item_id,
        loser as answer_id
    from pairs
),

scores as (
    select
        scores.item_id,
        scores.answer_id,
        scores.judge,
        scores.criterion as judge_criterion,
        avg(scores.score_0_1) as score
    from core_scores as scores
    semi join offered on scores.item_id = offered.item_id and scores.answer_id = offered.answer_id
    where scores.benchmark = $benchmark and scores.status = 'ok'
    group by scores.item_id, scores.answer_id, scores.judge, scores.criterion
),

judges as (
    select distinct
        judge,
        criterion as judge_criterion
    from core_scores
    where benchmark = $benchmark and status = 'ok' and exists (select 1 from pairs)
),

criteria as (
    select distinct human_criterion
    from pairs
),

compared as (
    select
        judges.judge,
        judges.judge_criterion,
        criteria.human_criterion
    from judges
    cross join criteria
    qualify
        judges.judge_criterion = criteria.human_criterion
        or not bool_or(judges.judge_criterion = criteria.human_criterion) over (partition by judges.judge_criterion)
)

select
    compared.judge,
    compared.judge_criterion,
    compared.human_criterion,
    pairs.choice_code,
    winners.score as winner_score,
    losers.score as loser_score,
    cluster_key($benchmark, items.cluster) as cluster_key
from pairs
inner join compared on pairs.human_criterion = compared.human_criterion
inner join stg_items as items on items.benchmark = $benchmark and pairs.item_id = items.item_id
left join scores as winners
    on
        compared.judge = winners.judge
        and compared.judge_criterion = winners.judge_criterion
        and pairs.item_id = winners.item_id
        and pairs.winner = winners.answer_id
left join scores as losers
    on
        compared.judge = losers.judge
        and compared.judge_criterion = losers.judge_criterion
        and pairs.item_id = losers.item_id
        and pairs.loser = losers.answer_id
order by compared.judge, compared.judge_criterion, compared.human_criterion, pairs.choice_code, pairs.loser
