-- grain: one row per answer x criterion x human rule: `mean`, and LAVE's (1.0 from 4 of 5 who say correct, 0.5 from 2 or 3, else 0)
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
        avg(score_0_1) as mean_score,
        count(*) filter (where score_0_1 = 1) as n_correct,
        bool_and(score_0_1 in (0, 1)) as is_binary
    from ratings
    group by benchmark, item_id, answer_id, criterion
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
