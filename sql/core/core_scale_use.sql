-- grain: one row per benchmark x judge (`human`: all annotators) x criterion x level: how often a judge gives each rating, and how long the
-- answers with it are, in characters (Prometheus-Vision, Figures 10 and 11). A level is a rating; of judges with more than 21 of them, a tenth
-- of the score: from `level` up to `level_to`
with judged as (
    select
        scores.benchmark,
        scores.judge,
        scores.criterion,
        scores.item_id,
        scores.answer_id,
        scores.rating,
        scores.score_0_1
    from core_scores as scores
    inner join core_judges as judges on scores.judge = judges.judge
    where scores.status = 'ok' and judges.kind in ('judge', 'recorded')
    union all
    select
        benchmark,
        'human' as judge,
        criterion,
        item_id,
        answer_id,
        rating,
        score_0_1
    from stg_human_ratings
),

fineness as (
    select
        benchmark,
        judge,
        criterion,
        count(distinct rating) > 21 as is_fine
    from judged
    group by benchmark, judge, criterion
),

measured as (
    select
        judged.benchmark,
        judged.judge,
        judged.criterion,
        case when fineness.is_fine then least(floor(10 * judged.score_0_1 + 1e-9), 9) / 10 else judged.rating end as level,
        fineness.is_fine,
        length(answers.text) as n_characters
    from judged
    inner join fineness
        on
            judged.benchmark = fineness.benchmark
            and judged.judge = fineness.judge
            and judged.criterion = fineness.criterion
    inner join core_answers as answers
        on
            judged.benchmark = answers.benchmark
            and judged.item_id = answers.item_id
            and judged.answer_id = answers.answer_id
)

select
    benchmark,
    judge,
    criterion,
    level,
    case when any_value(is_fine) then level + 0.1 end as level_to,
    count(*) as n,
    count(*) / sum(count(*)) over (partition by benchmark, judge, criterion) as share,
    quantile_cont(n_characters, 0.25) as length_low_quarter,
    median(n_characters) as length_median,
    quantile_cont(n_characters, 0.75) as length_high_quarter,
    avg(n_characters) as length_mean
from measured
group by benchmark, judge, criterion, level
