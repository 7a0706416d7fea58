-- question: Do the judges put the models in the same order as people do?
-- grain: one row per benchmark x people's criterion x judge x model: its mean score and place, by the judge and by people, over the answers
-- that both scored; of a judge with several criteria that of the same name counts, else `overall`, else the first
-- about: judge, model, place_by_judge, place_by_people
-- option benchmark: only this benchmark
-- option judge: only this judge or metric, by alias
with chosen as (
    select
        scores.*,
        coalesce(names.alias, scores.judge) as alias
    from core_rated_scores as scores
    left join core_judge_names as names on scores.judge = names.judge
    where
        scores.model is not null
        and ($benchmark::varchar is null or scores.benchmark = $benchmark)
        and ($judge::varchar is null or names.alias = $judge)
    qualify
        dense_rank() over (
            partition by scores.benchmark, scores.human_criterion, scores.judge
            order by
                scores.judge_criterion = scores.human_criterion desc, scores.judge_criterion = 'overall' desc, scores.judge_criterion asc
        ) = 1
),

means as (
    select
        benchmark,
        human_criterion,
        judge,
        any_value(alias) as alias,
        model,
        count(*) as n,
        round_mean(avg(judge_score)) as mean_of_judge,
        round_mean(avg(human_score)) as mean_of_people
    from chosen
    group by benchmark, human_criterion, judge, model
)

select
    benchmark,
    human_criterion,
    alias as judge,
    model,
    n,
    mean_of_judge,
    mean_of_people,
    rank() over (partition by benchmark, human_criterion, judge order by mean_of_judge desc) as place_by_judge,
    rank() over (partition by benchmark, human_criterion, judge order by mean_of_people desc) as place_by_people
from means
order by benchmark asc, human_criterion asc, alias asc, place_by_people asc, model asc
