-- grain: one row per answer x criterion x human rule: `mean`; LAVE's (1.0 from 4 of 5 who say correct, 0.5 from 2 or 3, else 0); and where
-- a criterion of a benchmark has an answer with three annotators, `median`, and `majority` (of more than half; else no row). Equal means
-- are equal numbers, whatever the order of their sum
with ratings as (
    select * from stg_human_ratings
),

counted as (
    select
        benchmark,
        item_id,
        answer_id,
        criterion,
        count(*) as n_annotators,
        round_mean(avg(score_0_1)) as mean_score,
        round_mean(median(score_0_1)) as median_score,
        count(*) filter (where score_0_1 = 1) as n_correct,
        bool_and(score_0_1 in (0, 1)) as is_binary,
        max(count(*)) over (partition by benchmark, criterion) as most_annotators
    from ratings
    group by benchmark, item_id, answer_id, criterion
),

held as (
    select
        benchmark,
        item_id,
        answer_id,
        criterion,
        score_0_1,
        count(*) as n_held
    from ratings
    group by benchmark, item_id, answer_id, criterion, score_0_1
)

select
    benchmark,
    item_id,
    answer_id,
    criterion,
    'mean' as human_rule,
    mean_score as score_0_1,
    n_annotators
from counted
union all
select
    benchmark,
    item_id,
    answer_id,
    criterion,
    'lave' as human_rule,
    case when n_correct >= 4 then 1.0 when n_correct >= 2 then 0.5 else 0.0 end as score_0_1,
    n_annotators
from counted
where n_annotators = 5 and is_binary
union all
select
    benchmark,
    item_id,
    answer_id,
    criterion,
    'median' as human_rule,
    median_score as score_0_1,
    n_annotators
from counted
where most_annotators >= 3
union all
select
    counted.benchmark,
    counted.item_id,
    counted.answer_id,
    counted.criterion,
    'majority' as human_rule,
    held.score_0_1,
    counted.n_annotators
from counted
inner join held
    on
        counted.benchmark = held.benchmark
        and counted.item_id = held.item_id
        and counted.answer_id = held.answer_id
        and counted.criterion = held.criterion
where counted.most_annotators >= 3 and 2 * held.n_held > counted.n_annotators
