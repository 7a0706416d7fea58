-- grain: one row per benchmark x plan x item x pair of answers that was drawn
select
    benchmark,
    plan,
    item_id,
    answer_a,
    answer_b,
    min(run_id) as run_id,
    min(drawn_at) as drawn_at
from raw_matchups
group by benchmark, plan, item_id, answer_a, answer_b
