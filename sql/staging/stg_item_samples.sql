-- grain: one row per benchmark x seed x item that a random sample has drawn; drawn once, and kept for all later ingests
select
    benchmark,
    seed,
    item_id,
    min(drawn_at) as drawn_at
from raw_item_samples
group by benchmark, seed, item_id
