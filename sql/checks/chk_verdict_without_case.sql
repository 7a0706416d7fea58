-- check: every verdict is on a case that some run wanted
-- grain: one row per verdict, duel, caption, answer or generation on a case that is not there
with verdicts as (
    select
        'verdicts' as table_name,
        judge_id,
        benchmark,
        item_id,
        content_digest,
        '' as other_digest,
        '' as shown_first,
        context_digest,
        criterion,
        sample,
        run_id
    from raw_verdicts
    union all
    select
        'duels' as table_name,
        judge_id,
        benchmark,
        item_id,
        content_digest,
        other_digest,
        shown_first,
        context_digest,
        criterion,
        sample,
        run_id
    from raw_duels
    union all
    select
        'generated_captions' as table_name,
        judge_id,
        benchmark,
        item_id,
        content_digest,
        '' as other_digest,
        '' as shown_first,
        context_digest,
        criterion,
        sample,
        run_id
    from raw_generated_captions
    union all
    select
        'generated_answers' as table_name,
        judge_id,
        benchmark,
        item_id,
        content_digest,
        '' as other_digest,
        '' as shown_first,
        context_digest,
        criterion,
        sample,
        run_id
    from raw_generated_answers
    union all
    select
        table_name,
        judge_id,
        benchmark,
        item_id,
        content_digest,
        '' as other_digest,
        '' as shown_first,
        context_digest,
        criterion,
        sample,
        run_id
    from core_collected
)

select verdicts.*
from verdicts
anti join raw_cases as cases
    on
        verdicts.judge_id = cases.judge_id
        and verdicts.benchmark = cases.benchmark
        and verdicts.item_id = cases.item_id
        and verdicts.content_digest = cases.content_digest
        and verdicts.other_digest = coalesce(cases.other_digest, '')
        and verdicts.shown_first = coalesce(cases.shown_first, '')
        and verdicts.context_digest = cases.context_digest
        and verdicts.criterion = cases.criterion
        and verdicts.sample = cases.sample
