-- grain: one row per benchmark x item x answer: the answers of current ingests, and those that the answerers of a suite, as it last ran
-- them, generated to the item's prompt as it is now; an answer that was generated again, to another image, replaces the former one
with registered as (
    select *
    from raw_judges
    qualify rank() over (partition by suite order by registered_at desc) = 1
),

answerers as (
    select distinct
        judge_id,
        reading,
        unnest(benchmarks) as benchmark
    from registered
    where kind = 'answerer'
),

generated as (
    select
        answers.benchmark,
        answers.item_id,
        answers.judge_id || '/' || answers.sample as answer_id,
        answers.model,
        answers.style,
        answers.sample,
        answers.text,
        answers.content_digest as prompt_digest,
        answers.run_id
    from stg_generated_answers as answers
    semi join answerers
        on
            answers.judge_id = answerers.judge_id
            and answers.reading = answerers.reading
            and answers.benchmark = answerers.benchmark
    where answers.status = 'ok'
    qualify
        row_number() over (
            partition by answers.benchmark, answers.item_id, answers.judge_id, answers.sample, answers.content_digest
            order by answers.judged_at desc
        ) = 1
)

select
    given.benchmark,
    given.item_id,
    given.answer_id,
    given.model,
    given.style,
    given.sample,
    given.text,
    given.content_digest,
    given.n_repeats,
    given.source_file,
    given.locator
from raw_answers as given
semi join stg_ingests as current
    on given.benchmark = current.benchmark and given.ingest_id = current.ingest_id
union all
select
    generated.benchmark,
    generated.item_id,
    generated.answer_id,
    generated.model,
    generated.style,
    generated.sample,
    generated.text,
    left(
        sha256(
            '[' || to_json(items.prompt) || ',' || to_json(list_sort(items.references)) || ',' || to_json(generated.text) || ']'
        ),
        16
    ) as content_digest,
    1::bigint as n_repeats,
    'judgelake answer' as source_file,
    generated.run_id as locator
from generated
inner join stg_items as items
    on
        generated.benchmark = items.benchmark
        and generated.item_id = items.item_id
        and generated.prompt_digest = left(sha256(items.prompt), 16)
