-- grain: one row per answer x ingest that brought another content of it: the digest of the content until then
select
    benchmark,
    item_id,
    answer_id,
    content_digest,
    replaced_at
from raw_replaced_answers
