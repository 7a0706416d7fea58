-- question: How often does a judge call a right answer wrong, or a wrong one right?
-- grain: one row per benchmark x people's criterion x judge or metric x its criterion x group of answers; an answer that half of
-- the people or more call right is right; a false positive is a wrong answer that is called right
-- about: judge, accuracy, false_positive_rate, false_negative_rate
-- option benchmark: only this benchmark
-- option judge: only this judge or metric, by alias
-- option by = all: what a group is: all, model, style or task
-- option at_least = 0.5: the score from 0 to 1 from which a judge calls an answer right
with graded as (
    select
        scores.benchmark,
        scores.human_criterion,
        coalesce(names.alias, scores.judge) as judge,
        scores.judge_criterion,
        case $by when 'model' then answers.model when 'style' then answers.style when 'task' then answers.task else '*' end as group_name,
        scores.judge_score >= round_mean($at_least::double) as called_right,
        scores.human_score >= 0.5 as is_right
    from core_rated_scores as scores
    inner join core_answers as answers
        on scores.benchmark = answers.benchmark and scores.item_id = answers.item_id and scores.answer_id = answers.answer_id
    left join core_judge_names as names on scores.judge = names.judge
    where $benchmark::varchar is null or scores.benchmark = $benchmark
)

select
    benchmark,
    human_criterion,
    judge,
    judge_criterion,
    group_name,
    count(*) as n,
    count(*) filter (where called_right = is_right) / count(*) as accuracy,
    count(*) filter (where called_right and not is_right) / nullif(count(*) filter (where not is_right), 0) as false_positive_rate,
    count(*) filter (where is_right and not called_right) / nullif(count(*) filter (where is_right), 0) as false_negative_rate
from graded
where $judge::varchar is null or judge = $judge
group by benchmark, human_criterion, judge, judge_criterion, group_name
order by benchmark asc, human_criterion asc, group_name asc, accuracy desc, judge asc, judge_criterion asc
