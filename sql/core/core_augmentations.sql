-- grain: one row per item that has no rubric of its own: the rubric, and the reference answer where one was asked for, that the collector
-- of a suite, as it last ran, wrote for the item's prompt and references as they are now; the latest where several did
with registered as (
    select *
    from raw_judges
    qualify rank() over (partition by suite order by registered_at desc) = 1
),

collectors as (
    select distinct
        judge_id,
        reading,
        unnest(benchmarks) as benchmark
    from registered
    where kind = 'collector'
)

select
    augmented.benchmark,
    augmented.item_id,
    augmented.judge_id,
    augmented.reading,
    augmented.rubric_id,
    augmented.description,
    augmented.levels,
    augmented.reference,
    augmented.run_id
from stg_augmented_items as augmented
semi join collectors
    on
        augmented.judge_id = collectors.judge_id
        and augmented.reading = collectors.reading
        and augmented.benchmark = collectors.benchmark
inner join stg_items as items
    on
        augmented.benchmark = items.benchmark
        and augmented.item_id = items.item_id
        and augmented.content_digest = left(sha256('[' || to_json(items.prompt) || ',' || to_json(list_sort(items.references)) || ']'), 16)
anti join stg_item_rubrics as own on augmented.benchmark = own.benchmark and augmented.item_id = own.item_id
where augmented.status = 'ok'
qualify row_number() over (partition by augmented.benchmark, augmented.item_id order by augmented.judged_at desc, augmented.judge_id asc) = 1
