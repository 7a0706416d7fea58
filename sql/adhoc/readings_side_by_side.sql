-- question: What does it change how the same replies are read?
-- grain: one row per benchmark x criterion x two current readings of one judge, over the cases that both read
-- about: judge_a, judge_b, n_changed, pearson
-- option benchmark: only this benchmark
with verdicts as (
    select
        judges.judge,
        judges.alias,
        verdicts.judge_id,
        verdicts.reading,
        verdicts.benchmark,
        verdicts.item_id,
        verdicts.content_digest,
        verdicts.context_digest,
        verdicts.criterion,
        verdicts.sample,
        verdicts.score_0_1 as score
    from stg_verdicts as verdicts
    inner join core_judges as judges on verdicts.judge_id = judges.judge_id and verdicts.reading = judges.reading
    where $benchmark::varchar is null or verdicts.benchmark = $benchmark
)

select
    a.benchmark,
    a.criterion,
    any_value(a.alias) as judge_a,
    any_value(b.alias) as judge_b,
    a.reading as reading_a,
    b.reading as reading_b,
    count(*) as n,
    count(a.score) as n_scored_a,
    count(b.score) as n_scored_b,
    count(*) filter (where abs(a.score - b.score) > 1e-9) as n_changed,
    avg(a.score - b.score) as mean_difference,
    avg(abs(a.score - b.score)) as mean_absolute_difference,
    case when stddev_pop(a.score) > 0 and stddev_pop(b.score) > 0 then corr(a.score, b.score) end as pearson
from verdicts as a
inner join verdicts as b
    on
        a.judge_id = b.judge_id
        and a.reading < b.reading
        and a.benchmark = b.benchmark
        and a.item_id = b.item_id
        and a.content_digest = b.content_digest
        and a.context_digest = b.context_digest
        and a.criterion = b.criterion
        and a.sample = b.sample
group by a.benchmark, a.criterion, a.judge, b.judge, a.reading, b.reading
order by a.benchmark asc, a.criterion asc, judge_a asc, judge_b asc, reading_a asc, reading_b asc
