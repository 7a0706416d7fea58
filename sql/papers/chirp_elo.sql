-- grain: one row per model x study x rater x criterion: Elo, the mean over bootstraps (CHIRP, Figure 5)
select
    found.benchmark || '/' || found.model as row_key,
    coalesce(names.alias, found.rater) || '/' || found.criterion as column_key,
    found.mean as value,
    found.n,
    found.reason
from rpt_rankings as found
left join core_judge_names as names on found.rater = names.judge
where found.benchmark in ('chirp_llm_size', 'chirp_ve_size') and found.method = 'elo' and found.category = '*'
