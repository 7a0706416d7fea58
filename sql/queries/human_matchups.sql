-- grain: one row per pair of answers that some person compared
select distinct
    benchmark,
    item_id,
    least(answer_a, answer_b) as answer_a,
    greatest(answer_a, answer_b) as answer_b
from stg_human_preferences
where list_contains($benchmarks, benchmark)
