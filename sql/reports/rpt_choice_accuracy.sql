-- grain: one row per benchmark x task ('*' all) x category ('*' all) x judge or metric x its criterion x people's criterion: how often it
-- scores the answer that people chose as the best of several higher than one that lost (HarmonicEval, appendix D.3). `n` pairs winner-loser of
-- `n_choices`, `n_missing` more lack a score; a tie of the judge is half. Scores are means of a judge's samples. Criteria are compared as in
-- core_rated_scores; a benchmark's one task or category has no row of its own
with choices as (
    select
        row_number() over (order by benchmark, item_id, choice_set, criterion, annotator) as choice_code,
        benchmark,
        item_id,
        criterion as human_criterion,
        chosen,
        answers
    from stg_choice_sets
    where chosen is not null
),

pairs as (
    select
        choice_code,
        benchmark,
        item_id,
        human_criterion,
        chosen as winner,
        unnest(list_filter(answers, lambda answer: answer <> chosen)) as loser
    from choices
),

offered as (
    select
        benchmark,
        item_id,
        winner as answer_id
    from pairs
    union
    select
        benchmark,
        item_id,
        loser as answer_id
    from pairs
),

scores as (
    select
        scores.benchmark,
        scores.item_id,
        scores.answer_id,
        scores.judge,
        scores.criterion as judge_criterion,
        round_mean(avg(scores.score_0_1)) as score
    from core_scores as scores
    semi join offered
        on scores.benchmark = offered.benchmark and scores.item_id = offered.item_id and scores.answer_id = offered.answer_id
    where scores.status = 'ok'
    group by scores.benchmark, scores.item_id, scores.answer_id, scores.judge, scores.criterion
),

judges as (
    select distinct
        scores.benchmark,
        scores.judge,
        scores.criterion as judge_criterion
    from core_scores as scores
    semi join pairs on scores.benchmark = pairs.benchmark
    where scores.status = 'ok'
),

criteria as (
    select distinct
        benchmark,
        human_criterion
    from pairs
),

compared as (
    select
        judges.benchmark,
        judges.judge,
        judges.judge_criterion,
        criteria.human_criterion
    from judges
    inner join criteria on judges.benchmark = criteria.benchmark
    qualify
        judges.judge_criterion = criteria.human_criterion
        or not bool_or(judges.judge_criterion = criteria.human_criterion) over (
            partition by judges.benchmark, judges.judge, judges.judge_criterion
        )
),

scored as (
    select
        compared.benchmark,
        compared.judge,
        compared.judge_criterion,
        compared.human_criterion,
        pairs.choice_code,
        items.cluster,
        items.task,
        coalesce(items.category, '(none)') as category,
        case
            when winners.score > losers.score then 1.0
            when winners.score = losers.score then 0.5
            when winners.score < losers.score then 0.0
        end as is_right
    from compared
    inner join pairs on compared.benchmark = pairs.benchmark and compared.human_criterion = pairs.human_criterion
    inner join stg_items as items on pairs.benchmark = items.benchmark and pairs.item_id = items.item_id
    left join scores as winners
        on
            compared.benchmark = winners.benchmark
            and compared.judge = winners.judge
            and compared.judge_criterion = winners.judge_criterion
            and pairs.item_id = winners.item_id
            and pairs.winner = winners.answer_id
    left join scores as losers
        on
            compared.benchmark = losers.benchmark
            and compared.judge = losers.judge
            and compared.judge_criterion = losers.judge_criterion
            and pairs.item_id = losers.item_id
            and pairs.loser = losers.answer_id
),

counted as (
    select
        benchmark,
        coalesce(task, '*') as task,
        coalesce(category, '*') as category,
        judge,
        judge_criterion,
        human_criterion,
        count(distinct choice_code) as n_choices,
        count(*) filter (where is_right = 0.5) as n_ties,
        count(*) - count(is_right) as n_missing
    from scored
    group by
        grouping sets (
            (benchmark, judge, judge_criterion, human_criterion),
            (benchmark, judge, judge_criterion, human_criterion, task),
            (benchmark, judge, judge_criterion, human_criterion, category)
        )
),

clusters as (
    select
        benchmark,
        coalesce(task, '*') as task,
        coalesce(category, '*') as category,
        judge,
        judge_criterion,
        human_criterion,
        cluster,
        count(is_right) as n,
        coalesce(sum(is_right), 0) as total
    from scored
    group by
        grouping sets (
            (benchmark, judge, judge_criterion, human_criterion, cluster),
            (benchmark, judge, judge_criterion, human_criterion, cluster, task),
            (benchmark, judge, judge_criterion, human_criterion, cluster, category)
        )
),

weighed as (
    select
        *,
        sum(n) over compared as all_n
    from clusters
    window compared as (partition by benchmark, task, category, judge, judge_criterion, human_criterion)
),

shares as (
    select
        benchmark,
        task,
        category,
        judge,
        judge_criterion,
        human_criterion,
        sum(n)::bigint as n,
        cluster_spread(n, total, all_n) as spread
    from weighed
    group by benchmark, task, category, judge, judge_criterion, human_criterion
),

ended as (
    select
        *,
        share_ends(spread) as ends
    from shares
)

select
    shares.benchmark,
    shares.task,
    shares.category,
    coalesce(names.alias, shares.judge) as metric,
    shares.judge_criterion,
    shares.human_criterion,
    counted.n_choices,
    shares.n,
    counted.n_ties,
    counted.n_missing,
    shares.spread.n_clusters as n_clusters,
    shares.spread.mean as accuracy,
    shares.ends.low as low,
    shares.ends.high as high,
    shares.ends.reason as reason,
    shares.judge
from ended as shares
inner join counted
    on
        shares.benchmark = counted.benchmark
        and shares.task = counted.task
        and shares.category = counted.category
        and shares.judge = counted.judge
        and shares.judge_criterion = counted.judge_criterion
        and shares.human_criterion = counted.human_criterion
left join core_judge_names as names on shares.judge = names.judge
window compared as (partition by shares.benchmark, shares.judge, shares.judge_criterion, shares.human_criterion)
qualify
    (shares.task = '*' or count(*) filter (where shares.task <> '*') over compared > 1)
    and (shares.category = '*' or count(*) filter (where shares.category <> '*') over compared > 1)
order by shares.benchmark, shares.task, shares.category, metric, shares.judge_criterion, shares.human_criterion
