-- question: Whose answers do judges refuse to judge?
-- grain: one row per benchmark x judge x evaluated model with a refused or filtered verdict (of a pair: for each of its models)
-- option benchmark: only this benchmark
with wanted as (
    select
        benchmark,
        judge,
        model,
        status
    from core_scores
    union all
    select
        benchmark,
        judge,
        unnest([model_a, model_b]) as model,
        status
    from core_duels
    union all
    select
        duels.benchmark,
        duels.judge,
        answers.model,
        duels.status
    from stg_recorded_duels as duels
    inner join core_answers as answers
        on
            duels.benchmark = answers.benchmark
            and duels.item_id = answers.item_id
            and answers.answer_id in (duels.answer_a, duels.answer_b)
)

select
    benchmark,
    judge,
    model,
    count(*) as n,
    count(*) filter (where status = 'refused') as n_refused,
    count(*) filter (where status = 'filtered') as n_filtered,
    count(*) filter (where status in ('refused', 'filtered')) / count(*) as share
from wanted
where $benchmark::varchar is null or benchmark = $benchmark
group by benchmark, judge, model
having count(*) filter (where status in ('refused', 'filtered')) > 0
order by share desc, benchmark asc, judge asc, model asc
