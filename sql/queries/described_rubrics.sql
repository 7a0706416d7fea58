-- grain: one row per rubric that a collector ($judge_id, $reading) made and that is kept (`collected`), and per rubric of each benchmark that
-- was ingested with its own (`ingested`)
select
    'collected' as origin,
    rubrics.benchmark,
    rubrics.description,
    rubrics.levels
from stg_collected_rubrics as rubrics
inner join stg_screened_rubrics as screened
    on
        rubrics.judge_id = screened.judge_id
        and rubrics.reading = screened.reading
        and rubrics.benchmark = screened.benchmark
        and rubrics.context_digest = screened.context_digest
        and rubrics.criterion = screened.criterion
where rubrics.judge_id = $judge_id and rubrics.reading = $reading and rubrics.status = 'ok' and screened.is_kept
union all
select
    'ingested' as origin,
    benchmark,
    criterion as description,
    levels
from stg_rubrics
order by origin, benchmark, description
