-- grain: one row per Robin model x benchmark that somebody else made: the score that was published, in per cent
select
    model as row_key,
    published_benchmark as column_key,
    score as value,
    1 as n,
    null as reason
from benchmark_scores
where benchmark = 'chirp_all_robin'
