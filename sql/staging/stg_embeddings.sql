-- grain: one row per encoder x text or image: its vector, one of them where two workers kept it
select
    encoder,
    encoder_signature,
    digest,
    any_value(vector) as vector
from raw_embeddings
group by encoder, encoder_signature, digest
