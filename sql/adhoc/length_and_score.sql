-- question: Do longer answers get higher scores, from judges and from people?
-- grain: one row per benchmark x rater x criterion; length in characters, quarters of the answers by it
-- about: rater, spearman
-- option benchmark: only this benchmark
with scores as (
    select
        benchmark,
        item_id,
        answer_id,
        judge as rater,
        any_value(alias) as alias,
        criterion,
        round_mean(avg(score_0_1)) as score
    from core_scores
    where status = 'ok'
    group by benchmark, item_id, answer_id, judge, criterion
    union all
    select
        benchmark,
        item_id,
        answer_id,
        'human' as rater,
        'human' as alias,
        criterion,
        score_0_1 as score
    from core_human
    where human_rule = 'mean'
),

measured as (
    select
        scores.benchmark,
        scores.rater,
        scores.alias,
        scores.criterion,
        scores.score,
        length(answers.text) as n_characters
    from scores
    inner join core_answers as answers
        on scores.benchmark = answers.benchmark and scores.item_id = answers.item_id and scores.answer_id = answers.answer_id
    where $benchmark::varchar is null or scores.benchmark = $benchmark
),

ranked as (
    select
        *,
        rank() over (partition by benchmark, rater, criterion order by score)
        + (count(*) over (partition by benchmark, rater, criterion, score) - 1) / 2 as score_rank,
        rank() over (partition by benchmark, rater, criterion order by n_characters)
        + (count(*) over (partition by benchmark, rater, criterion, n_characters) - 1) / 2 as length_rank,
        cume_dist() over (partition by benchmark, rater, criterion order by n_characters) as share_up_to,
        cume_dist() over (partition by benchmark, rater, criterion order by n_characters desc) as share_from
    from measured
)

select
    benchmark,
    any_value(alias) as rater,
    criterion,
    count(*) as n,
    case when stddev_pop(score) > 0 and stddev_pop(n_characters) > 0 then corr(score, n_characters) end as pearson,
    case when stddev_pop(score) > 0 and stddev_pop(n_characters) > 0 then corr(score_rank, length_rank) end as spearman,
    median(n_characters) as median_characters,
    avg(score) filter (where share_up_to <= 0.25) as mean_of_shortest,
    avg(score) filter (where share_from <= 0.25) as mean_of_longest
from ranked
group by benchmark, ranked.rater, criterion
order by benchmark asc, criterion asc, rater asc
