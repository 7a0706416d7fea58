-- question: Which judge is closest to people, and how sure is that?
-- grain: one row per benchmark x people's criterion x judge, over all models; of a judge with several criteria
-- that of the same name counts, else `overall`, else the first
-- about: judge, value
-- option benchmark: only this benchmark
-- option coefficient = spearman: pearson, spearman, kendall_tau_b or kendall_tau_c
-- option rule = mean: how several annotators are one: mean, lave or each
with chosen as (
    select
        found.*,
        coalesce(names.alias, found.judge) as alias
    from rpt_correlation as found
    left join core_judge_names as names on found.judge = names.judge
    where
        found.model = '*'
        and (found.task, found.category, found.style) = ('*', '*', '*')
        and found.against = 'human'
        and found.coefficient = $coefficient
        and found.human_rule = $rule
        and found.sample_rule = 'mean'
        and found.benchmark <> '*'
        and ($benchmark::varchar is null or found.benchmark = $benchmark)
    qualify
        row_number() over (
            partition by found.benchmark, found.human_criterion, found.judge
            order by found.judge_criterion = found.human_criterion desc, found.judge_criterion = 'overall' desc, found.judge_criterion asc
        ) = 1
)

select
    benchmark,
    human_criterion,
    rank() over (partition by benchmark, human_criterion order by value desc nulls last) as place,
    alias as judge,
    judge_criterion,
    value,
    low,
    high,
    reason,
    n,
    n_clusters
from chosen
order by benchmark asc, human_criterion asc, place asc, judge asc, judge_criterion asc
