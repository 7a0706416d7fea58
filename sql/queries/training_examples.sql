-- grain: one row per wanted case x answer of its content x verdict of the teacher ($judge_id, $reading) on it, with why it is left out;
-- $held_out: the share of clusters whose examples are held out, drawn by $seed
with taught as (
    select
        benchmark,
        item_id,
        answer_id,
        cluster,
        criterion,
        sample as verdict_sample,
        status,
        rating,
        score_0_1,
        rationale
    from core_scores
    where judge_id = $judge_id and reading = $reading and list_contains($benchmarks, benchmark) and status <> 'not_asked'
)

select
    wanted.*,
    taught.rating as verdict_rating,
    taught.rationale as feedback,
    case
        when taught.status <> 'ok' then concat('the teacher''s verdict is ', taught.status)
        when taught.rating not in (1, 2, 3, 4, 5) or abs(taught.score_0_1 - (taught.rating - 1) / 4) > 1e-6
            then 'the teacher''s rating is no level of a scale from 1 to 5'
    end as left_out,
    concat('0x', left(sha256(concat_ws(chr(31), $seed, taught.benchmark, taught.cluster)), 8))::ubigint / 4294967296.0 < $held_out as is_held_out
from wanted_cases as wanted
inner join core_answers as answers
    on
        wanted.benchmark = answers.benchmark
        and wanted.item_id = answers.item_id
        and wanted.content_digest = answers.content_digest
inner join taught
    on
        answers.benchmark = taught.benchmark
        and answers.item_id = taught.item_id
        and answers.answer_id = taught.answer_id
        and wanted.criterion = taught.criterion
where wanted.sample = 0
order by wanted.benchmark, wanted.item_id, wanted.content_digest, wanted.criterion, taught.answer_id, taught.verdict_sample
