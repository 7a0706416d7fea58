-- question: Which of people's criteria does each score of a judge measure?
-- grain: one row per benchmark x judge x its criterion x people's criterion: their correlation over all models;
-- `place` 1 is the criterion of people that it agrees with most
-- about: judge, judge_criterion, human_criterion, value
-- option benchmark: only this benchmark
-- option judge: only this judge or metric, by alias
-- option coefficient = spearman: pearson, spearman, kendall_tau_b or kendall_tau_c
select
    found.benchmark,
    coalesce(names.alias, found.judge) as judge,
    found.judge_criterion,
    found.human_criterion,
    rank() over (
        partition by found.benchmark, found.judge, found.judge_criterion order by found.value desc nulls last
    ) as place,
    found.value,
    found.low,
    found.high,
    found.reason,
    found.n
from rpt_correlation as found
left join core_judge_names as names on found.judge = names.judge
where
    found.model = '*'
    and (found.task, found.category, found.style) = ('*', '*', '*')
    and found.against = 'human'
    and found.coefficient = $coefficient
    and found.human_rule = 'mean'
    and found.sample_rule = 'mean'
    and found.benchmark <> '*'
    and ($benchmark::varchar is null or found.benchmark = $benchmark)
    and ($judge::varchar is null or names.alias = $judge)
order by found.benchmark asc, judge asc, found.judge_criterion asc, place asc, found.human_criterion asc
