-- grain: one row per judge x reading x case, `ok` first, else the latest attempt, with the names of what was judged. They are null where the
-- judge or the answer is not there any more; models that gave the very same answer are all named
with answers as (
    select
        benchmark,
        item_id,
        content_digest,
        string_agg(distinct model, ', ' order by model) as model,
        any_value(prompt) as prompt,
        any_value(text) as answer,
        any_value(category) as category
    from core_answers
    group by benchmark, item_id, content_digest
)

select
    verdicts.benchmark,
    judges.judge,
    judges.alias,
    verdicts.item_id,
    answers.model,
    verdicts.criterion,
    verdicts.sample,
    verdicts.status,
    verdicts.rating,
    verdicts.score_0_1,
    verdicts.reason,
    answers.prompt,
    answers.answer,
    verdicts.rationale,
    answers.category,
    verdicts.probabilities,
    verdicts.captured_mass,
    verdicts.judged_at,
    verdicts.judge_id,
    verdicts.reading,
    verdicts.content_digest,
    verdicts.context_digest,
    verdicts.reply_digests,
    verdicts.run_id
from stg_verdicts as verdicts
left join core_judges as judges on verdicts.judge_id = judges.judge_id and verdicts.reading = judges.reading
left join answers
    on
        verdicts.benchmark = answers.benchmark
        and verdicts.item_id = answers.item_id
        and verdicts.content_digest = answers.content_digest
