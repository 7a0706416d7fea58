-- grain: one row per benchmark x kind of rubric x keyword: how many kept rubrics have it (Prometheus-Vision, Figures 7 and 8)
with words as (
    select
        rubrics.benchmark,
        rubrics.kind,
        unnest(list_distinct(rubrics.keywords)) as keyword
    from stg_collected_rubrics as rubrics
    inner join stg_screened_rubrics as screened
        on
            rubrics.judge_id = screened.judge_id
            and rubrics.reading = screened.reading
            and rubrics.benchmark = screened.benchmark
            and rubrics.context_digest = screened.context_digest
            and rubrics.criterion = screened.criterion
    where rubrics.status = 'ok' and screened.is_kept
)

select
    benchmark,
    kind,
    keyword,
    count(*) as n
from words
group by benchmark, kind, keyword
order by benchmark asc, kind asc, n desc, keyword asc
