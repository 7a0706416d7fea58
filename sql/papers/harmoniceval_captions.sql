-- grain: one row per judge or metric x Flickr8k data set: Kendall's tau-c with each expert's rating (Expert), tau-b with the crowd's share (CF),
-- by the overall score
select
    coalesce(names.alias, found.judge) as row_key,
    found.benchmark as column_key,
    found.value,
    found.n,
    found.reason
from rpt_correlation as found
left join core_judge_names as names on found.judge = names.judge
where
    (found.benchmark, found.coefficient, found.human_rule) in (
        ('flickr8k_expert', 'kendall_tau_c', 'each'), ('flickr8k_cf', 'kendall_tau_b', 'mean')
    )
    and (found.model, found.task, found.category, found.style) = ('*', '*', '*', '*')
    and found.against = 'human'
    and found.judge_criterion = 'overall'
    and found.sample_rule = 'mean'
