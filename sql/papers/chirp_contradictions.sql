-- grain: one row per criterion x rater x study: of the questions, the share on which the preferences run in a circle, on the pairs that people
-- were surveyed on (CHIRP, Figure 6, appendix C.2.8)
select
    found.criterion as row_key,
    found.benchmark || '/' || coalesce(names.alias, found.rater) as column_key,
    found.share as value,
    found.n_questions as n,
    found.reason
from rpt_contradictions as found
left join core_judge_names as names on found.rater = names.judge
where found.benchmark in ('chirp_llm_size', 'chirp_ve_size')
qualify found.pairs = 'surveyed' or not bool_or(found.pairs = 'surveyed') over (partition by found.benchmark, found.rater, found.criterion)
