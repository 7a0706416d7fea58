-- grain: one row per wanted case x answer of its content x verdict of the teacher ($judge_id, $reading; $judge_id 'people': the mean of people's
-- ratings) on it, with its level from 1 to $n_levels or why it is left out; $held_out: the share of clusters whose examples are held out, drawn
-- by $seed. People's ratings count for any criterion where they have one alone
with people as (
    select
        core_human.*,
        answers.cluster,
        count(distinct core_human.criterion) over (partition by core_human.benchmark) = 1 as is_only
    from core_human
    inner join core_answers as answers
        on
            core_human.benchmark = answers.benchmark
            and core_human.item_id = answers.item_id
            and core_human.answer_id = answers.answer_id
    where core_human.human_rule = 'mean' and $judge_id = 'people' and list_contains($benchmarks, core_human.benchmark)
),

taught as (
    select
        benchmark,
        item_id,
        answer_id,
        cluster,
        criterion,
        false as is_any,
        sample as verdict_sample,
        status,
        score_0_1,
        rationale
    from core_scores
    where judge_id = $judge_id and reading = $reading and list_contains($benchmarks, benchmark) and status <> 'not_asked'
    union all
    select
        benchmark,
        item_id,
        answer_id,
        cluster,
        criterion,
        is_only as is_any,
        0 as verdict_sample,
        'ok' as status,
        score_0_1,
        null as rationale
    from people
)

select
    wanted.*,
    1 + floor(taught.score_0_1 * ($n_levels - 1) + 0.5)::integer as level,
    taught.rationale as feedback,
    case
        when taught.status <> 'ok' then concat('the teacher''s verdict is ', taught.status)
        when
            $judge_id <> 'people'
            and abs(taught.score_0_1 * ($n_levels - 1) - round(taught.score_0_1 * ($n_levels - 1))) > 1e-6
            then concat('the teacher''s rating is no level of a scale from 1 to ', $n_levels)
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
        and (wanted.criterion = taught.criterion or taught.is_any)
where wanted.sample = 0
order by wanted.benchmark, wanted.item_id, wanted.content_digest, wanted.criterion, taught.answer_id, taught.verdict_sample
