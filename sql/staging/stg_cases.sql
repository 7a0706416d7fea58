-- grain: one row per judge x benchmark x item x content x other content x order x criterion x sample: the context that the last plan wanted
with cases as not materialized (
    select
        * replace (coalesce(other_digest, '') as other_digest, coalesce(shown_first, '') as shown_first),
        hash(benchmark, item_id, content_digest, coalesce(other_digest, ''), coalesce(shown_first, ''), criterion, sample) as key_hash
    from raw_cases
),

-- few cases are planned again, in another context: those alone are sorted, with any whose hash is another's by chance
repeated as materialized (
    select
        judge_id,
        key_hash
    from cases
    group by judge_id, key_hash
    having count(*) > 1
),

kept as (
    select cases.*
    from cases
    left join repeated on cases.judge_id = repeated.judge_id and cases.key_hash = repeated.key_hash
    where repeated.key_hash is null
    union all
    select cases.*
    from cases
    inner join repeated on cases.judge_id = repeated.judge_id and cases.key_hash = repeated.key_hash
    qualify
        row_number() over (
            partition by
                cases.judge_id,
                cases.benchmark,
                cases.item_id,
                cases.content_digest,
                cases.other_digest,
                cases.shown_first,
                cases.criterion,
                cases.sample
            order by cases.planned_at desc
        ) = 1
)

select
    judge_id,
    benchmark,
    item_id,
    content_digest,
    context_digest,
    criterion,
    sample,
    other_digest,
    shown_first,
    run_id,
    planned_at
from kept
