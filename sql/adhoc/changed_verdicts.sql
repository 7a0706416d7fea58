-- question: Which verdicts changed from one run, judge or model snapshot to the next?
-- grain: one row per suite's judge x answer (or pair in one order) x criterion x sample x attempt that differs from the attempt before it
-- about: judge, item_id, former_score, score, run_id
-- option benchmark: only this benchmark
-- option run: only changes that came with this run
-- option n = 50: how many rows, the largest changes first
with names as (
    select distinct
        suite,
        alias,
        judge_id,
        reading
    from raw_judges
),

attempts as (
    select
        judge_id,
        reading,
        benchmark,
        item_id,
        content_digest,
        '' as other_digest,
        '' as shown_first,
        criterion,
        sample,
        status,
        score_0_1 as score,
        reply_digests,
        run_id,
        judged_at
    from raw_verdicts
    where $benchmark::varchar is null or benchmark = $benchmark
    union all
    select
        judge_id,
        reading,
        benchmark,
        item_id,
        content_digest,
        other_digest,
        shown_first,
        criterion,
        sample,
        status,
        preference_b as score,
        reply_digests,
        run_id,
        judged_at
    from raw_duels
    where $benchmark::varchar is null or benchmark = $benchmark
),

snapshots as (
    select
        judge_id,
        request_digest,
        max(resolved_model) as snapshot
    from raw_replies
    group by judge_id, request_digest
),

sequences as (
    select
        names.suite,
        names.alias as judge,
        attempts.*,
        snapshots.snapshot,
        lag(attempts.run_id) over attempt_before as former_run,
        lag(attempts.judge_id) over attempt_before as former_judge_id,
        lag(snapshots.snapshot) over attempt_before as former_snapshot,
        lag(attempts.status) over attempt_before as former_status,
        lag(attempts.score) over attempt_before as former_score
    from attempts
    inner join names on attempts.judge_id = names.judge_id and attempts.reading = names.reading
    left join snapshots
        on attempts.judge_id = snapshots.judge_id and attempts.reply_digests[1] = snapshots.request_digest
    window attempt_before as (
        partition by
            names.suite,
            names.alias,
            attempts.benchmark,
            attempts.item_id,
            attempts.content_digest,
            attempts.other_digest,
            attempts.shown_first,
            attempts.criterion,
            attempts.sample
        order by attempts.judged_at, attempts.run_id
    )
)

select
    suite,
    judge,
    benchmark,
    item_id,
    content_digest,
    other_digest,
    shown_first,
    criterion,
    sample,
    former_status,
    status,
    former_score,
    score,
    former_run,
    run_id,
    former_judge_id,
    judge_id,
    former_snapshot,
    snapshot
from sequences
where
    former_run is not null
    and (status <> former_status or score is distinct from former_score)
    and ($run::varchar is null or run_id = $run)
order by abs(score - former_score) desc nulls last, suite asc, judge asc, benchmark asc, item_id asc, criterion asc, run_id asc
limit $n::bigint
