-- grain: one row per collector x reading x rubric that was compared with those before it
select
    judge_id,
    reading,
    benchmark,
    context_digest,
    criterion,
    rubric_id,
    is_kept,
    nearest_id,
    rouge_l,
    run_id,
    screened_at
from raw_screened_rubrics
qualify row_number() over (partition by judge_id, reading, benchmark, context_digest, criterion order by screened_at) = 1
