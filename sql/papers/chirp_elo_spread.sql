-- grain: one row per model x study x rater x criterion x end: Elo over bootstraps, its mean, quartiles and the ends of
-- the middle 95 % (CHIRP, Figure 22)
with spread as (
    select
        found.benchmark || '/' || found.model as row_key,
        coalesce(names.alias, found.rater) || '/' || found.criterion as rated,
        found.low,
        found.percentiles[26] as lower_quartile,
        found.median,
        found.mean,
        found.percentiles[76] as upper_quartile,
        found.high,
        found.n
    from rpt_rankings as found
    left join core_judge_names as names on found.rater = names.judge
    where found.benchmark in ('chirp_llm_size', 'chirp_ve_size') and found.method = 'elo' and found.category = '*'
)

select
    row_key,
    rated || '/' || spread_end as column_key,
    rating as value,
    n,
    null as reason
from spread
unpivot (rating for spread_end in (low, lower_quartile, median, mean, upper_quartile, high))
