-- grain: one row per judge x request on which verdicts of $benchmark rest, and no other benchmark's
with verdicts_of_all as (
    select
        judge_id,
        benchmark,
        reply_digests
    from raw_verdicts
    union all
    select
        judge_id,
        benchmark,
        reply_digests
    from raw_duels
    union all
    select
        judge_id,
        benchmark,
        reply_digests
    from raw_generated_captions
    union all
    select
        judge_id,
        benchmark,
        reply_digests
    from raw_generated_answers
    union all
    select
        judge_id,
        benchmark,
        reply_digests
    from raw_collected_rubrics
    union all
    select
        judge_id,
        benchmark,
        reply_digests
    from raw_collected_instructions
    union all
    select
        judge_id,
        benchmark,
        reply_digests
    from raw_collected_responses
    union all
    select
        judge_id,
        benchmark,
        reply_digests
    from raw_augmented_items
),

uses as (
    select
        judge_id,
        benchmark,
        unnest(reply_digests) as request_digest
    from verdicts_of_all
)

select
    judge_id,
    request_digest
from uses
group by judge_id, request_digest
having bool_and(benchmark = $benchmark)
