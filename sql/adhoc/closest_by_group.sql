-- question: Which judge would you trust for short answers, which for long ones, and which for each task?
-- grain: one row per benchmark x people's criterion x group of answers x judge: Spearman's correlation with people's mean over the answers of
-- the group, all models together; of a judge with several criteria that of the same name counts, else `overall`, else the first
-- option benchmark: only this benchmark
-- option by = style: what a group is: style, task, category or model
-- option chosen: only the group of this name, such as short
with names as (
    select
        judge,
        any_value(alias) as alias
    from core_judges
    group by judge
),

grouped as (
    select
        scores.benchmark,
        scores.human_criterion,
        case $by
            when 'style' then answers.style when 'task' then answers.task when 'category' then answers.category else answers.model
        end as name,
        scores.judge,
        scores.judge_criterion,
        scores.judge_score,
        scores.human_score,
        scores.cluster
    from core_rated_scores as scores
    inner join core_answers as answers
        on scores.benchmark = answers.benchmark and scores.item_id = answers.item_id and scores.answer_id = answers.answer_id
    where $benchmark::varchar is null or scores.benchmark = $benchmark
    qualify
        dense_rank() over (
            partition by scores.benchmark, scores.human_criterion, scores.judge
            order by
                scores.judge_criterion = scores.human_criterion desc, scores.judge_criterion = 'overall' desc, scores.judge_criterion asc
        ) = 1
),

ranked as (
    select
        *,
        rank() over (partition by benchmark, human_criterion, name, judge order by judge_score)
        + (count(*) over (partition by benchmark, human_criterion, name, judge, judge_score) - 1) / 2 as judge_rank,
        rank() over (partition by benchmark, human_criterion, name, judge order by human_score)
        + (count(*) over (partition by benchmark, human_criterion, name, judge, human_score) - 1) / 2 as human_rank
    from grouped
),

correlated as (
    select
        benchmark,
        human_criterion,
        name,
        judge,
        case when stddev_pop(judge_score) > 0 and stddev_pop(human_score) > 0 then corr(judge_rank, human_rank) end as value,
        avg(judge_score) as mean_of_judge,
        avg(human_score) as mean_of_people,
        count(*) as n,
        count(distinct cluster) as n_clusters
    from ranked
    where $chosen::varchar is null or name = $chosen
    group by benchmark, human_criterion, name, judge
)

select
    correlated.benchmark,
    correlated.human_criterion,
    correlated.name as group_name,
    rank() over (
        partition by correlated.benchmark, correlated.human_criterion, correlated.name order by correlated.value desc nulls last
    ) as place,
    coalesce(names.alias, correlated.judge) as judge,
    correlated.value,
    correlated.mean_of_judge,
    correlated.mean_of_people,
    correlated.n,
    correlated.n_clusters
from correlated
left join names on correlated.judge = names.judge
order by correlated.benchmark asc, correlated.human_criterion asc, group_name asc, place asc, judge asc
