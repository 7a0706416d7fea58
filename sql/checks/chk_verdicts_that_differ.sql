-- check: no case has two verdicts with different scores under one reading
-- grain: one row per judge x reading x case that has
select
    'verdicts' as table_name,
    judge_id,
    reading,
    benchmark,
    item_id,
    content_digest,
    '' as other_digest,
    '' as shown_first,
    context_digest,
    criterion,
    sample,
    min(score_0_1) as lowest,
    max(score_0_1) as highest,
    count(*) as n
from raw_verdicts
where status = 'ok'
group by judge_id, reading, benchmark, item_id, content_digest, context_digest, criterion, sample
having count(*) > 1 and max(score_0_1) - min(score_0_1) > 1e-9
union all
select
    'duels' as table_name,
    judge_id,
    reading,
    benchmark,
    item_id,
    content_digest,
    other_digest,
    shown_first,
    context_digest,
    criterion,
    sample,
    min(preference_b) as lowest,
    max(preference_b) as highest,
    count(*) as n
from raw_duels
where status = 'ok'
group by judge_id, reading, benchmark, item_id, content_digest, other_digest, shown_first, context_digest, criterion, sample
having count(*) > 1 and max(preference_b) - min(preference_b) > 1e-9
