-- grain: one row per benchmark x judge of the run whose share of wanted scores that are there is below $least
with chosen as (
    select judge
    from core_judges
    where list_contains($ids, judge_id || reading)
)

select
    coverage.benchmark,
    coverage.judge,
    coalesce(sum(coverage.n) filter (where coverage.status in ('ok', 'inconsistent')), 0) / sum(coverage.n) as share
from rpt_coverage as coverage
semi join chosen on coverage.judge = chosen.judge
where list_contains($benchmarks, coverage.benchmark)
group by coverage.benchmark, coverage.judge
having share < $least
order by coverage.benchmark, coverage.judge
