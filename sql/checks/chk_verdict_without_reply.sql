-- check: whoever was asked for a verdict with a score, at least one of the replies it rests on is there
-- grain: one row per verdict, duel, caption, answer or generation with status ok none of whose replies is
-- Not each of them: a second turn that asks for the reason of a score may have failed.
with verdicts as (
    select
        'verdicts' as table_name,
        judge_id,
        benchmark,
        item_id,
        criterion,
        reply_digests,
        run_id
    from raw_verdicts
    where status = 'ok' and len(reply_digests) > 0
    union all
    select
        'duels' as table_name,
        judge_id,
        benchmark,
        item_id,
        criterion,
        reply_digests,
        run_id
    from raw_duels
    where status = 'ok' and len(reply_digests) > 0
    union all
    select
        'generated_captions' as table_name,
        judge_id,
        benchmark,
        item_id,
        criterion,
        reply_digests,
        run_id
    from raw_generated_captions
    where status = 'ok' and len(reply_digests) > 0
    union all
    select
        'generated_answers' as table_name,
        judge_id,
        benchmark,
        item_id,
        criterion,
        reply_digests,
        run_id
    from raw_generated_answers
    where status = 'ok' and len(reply_digests) > 0
    union all
    select
        table_name,
        judge_id,
        benchmark,
        item_id,
        criterion,
        reply_digests,
        run_id
    from core_collected
    where status = 'ok' and len(reply_digests) > 0
),

first_lacking as (
    select *
    from verdicts
    anti join raw_replies as replies
        on verdicts.judge_id = replies.judge_id and verdicts.reply_digests[1] = replies.request_digest
)

select
    table_name,
    judge_id,
    benchmark,
    item_id,
    criterion,
    reply_digests,
    run_id
from first_lacking
where
    not exists (
        select 1
        from raw_replies as replies
        where replies.judge_id = first_lacking.judge_id and list_contains(first_lacking.reply_digests, replies.request_digest)
    )
