-- question: Which judge is closest to people, and how sure is that?
-- grain: one row per benchmark x people's criterion x judge x its criterion, over all models, as the last report computed it
-- option benchmark: only this benchmark
-- option coefficient = spearman: pearson, spearman, kendall_tau_b or kendall_tau_c
-- option rule = mean: how several annotators are one: mean, lave or each
select
    benchmark,
    human_criterion,
    rank() over (partition by benchmark, human_criterion order by value desc nulls last) as place,
    judge,
    judge_criterion,
    value,
    low,
    high,
    n,
    n_clusters
from rpt_correlation
where
    model = '*'
    and against = 'human'
    and coefficient = $coefficient
    and human_rule = $rule
    and sample_rule = 'mean'
    and benchmark <> '*'
    and ($benchmark::varchar is null or benchmark = $benchmark)
order by benchmark asc, human_criterion asc, place asc, judge asc, judge_criterion asc
