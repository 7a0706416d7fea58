-- question: Which people disagree most with the others?
-- grain: one row per benchmark x criterion x annotator, over the answers that others rated too; scores from 0 to 1
-- about: annotator, mean_absolute_difference
-- option benchmark: only this benchmark
with ratings as (
    select
        benchmark,
        criterion,
        annotator,
        score_0_1 as score,
        count(*) over answer as n_annotators,
        sum(score_0_1) over answer as total
    from stg_human_ratings
    where $benchmark::varchar is null or benchmark = $benchmark
    window answer as (partition by benchmark, item_id, answer_id, criterion)
),

compared as (
    select
        benchmark,
        criterion,
        annotator,
        score - (total - score) / (n_annotators - 1) as difference
    from ratings
    where n_annotators > 1
)

select
    benchmark,
    criterion,
    annotator,
    count(*) as n,
    avg(abs(difference)) as mean_absolute_difference,
    avg(difference) as mean_difference
from compared
group by benchmark, criterion, annotator
order by mean_absolute_difference desc, benchmark asc, criterion asc, annotator asc
