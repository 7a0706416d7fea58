-- grain: one row per benchmark x judge x criterion x pair of its samples (sample_a < sample_b) of the answers that both scored
with repeated as (
    select
        benchmark,
        judge,
        criterion
    from core_scores
    where status = 'ok'
    group by benchmark, judge, criterion
    having max(sample) > min(sample)
),

scores as (
    select
        core_scores.benchmark,
        core_scores.judge,
        core_scores.criterion,
        core_scores.item_id,
        core_scores.answer_id,
        core_scores.sample,
        round_mean(avg(core_scores.score_0_1)) as score
    from core_scores
    semi join repeated
        on
            core_scores.benchmark = repeated.benchmark
            and core_scores.judge = repeated.judge
            and core_scores.criterion = repeated.criterion
    where core_scores.status = 'ok'
    group by
        core_scores.benchmark, core_scores.judge, core_scores.criterion, core_scores.item_id, core_scores.answer_id, core_scores.sample
),

paired as (
    select
        a.benchmark,
        a.judge,
        a.criterion,
        a.sample as sample_a,
        b.sample as sample_b,
        a.score as score_a,
        b.score as score_b
    from scores as a
    inner join scores as b
        on
            a.benchmark = b.benchmark
            and a.judge = b.judge
            and a.criterion = b.criterion
            and a.item_id = b.item_id
            and a.answer_id = b.answer_id
            and a.sample < b.sample
)

select
    benchmark,
    judge,
    criterion,
    sample_a,
    sample_b,
    count(*) as n,
    avg(cast(score_a = score_b as double)) as same_score,
    corr(score_a, score_b) as pearson
from paired
group by benchmark, judge, criterion, sample_a, sample_b
