-- grain: one row per model x study x rater x criterion x end: the mean of Elo over bootstraps, and the middle 95 % of them (CHIRP, Figure 22)
with names as (
    select
        judge,
        any_value(alias) as alias
    from core_judges
    group by judge
),

spread as (
    select
        found.benchmark || '/' || found.model as row_key,
        coalesce(names.alias, found.rater) || '/' || found.criterion as rated,
        found.low,
        found.mean,
        found.high,
        found.n
    from rpt_rankings as found
    left join names on found.rater = names.judge
    where found.benchmark in ('chirp_llm_size', 'chirp_ve_size') and found.method = 'elo' and found.category = '*'
)

select
    row_key,
    rated || '/' || spread_end as column_key,
    rating as value,
    n,
    null as reason
from spread
unpivot (rating for spread_end in (low, mean, high))
