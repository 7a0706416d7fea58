-- grain: one row per response that a collector ($judge_id, $reading) was asked for, to an instruction of another ($built_on,
-- $built_on_reading), as the case of a judge that grades by a rubric, with the score and the feedback to be learnt or why it is left out;
-- $is_shown: whether the judge sees the image; $held_out: the share of images whose examples are held out, drawn by $seed
with shown as (
    select
        items.benchmark,
        items.item_id,
        coalesce(left(image.sha256, 16), image.uri) as context_digest,
        any_value(image) as image
    from (
        select
            benchmark,
            item_id,
            unnest(images) as image
        from stg_items
    ) as items
    group by all
)

select
    responses.benchmark,
    responses.item_id,
    'instruction' as task,
    responses.instruction as prompt,
    [responses.reference] as "references",
    null::varchar as caption,
    case when $is_shown and shown.image is not null then [shown.image] else [] end as images,
    items.regions[1:0] as regions,
    responses.description as rubric_criterion,
    responses.levels as rubric_levels,
    responses.context_digest,
    responses.response as answer,
    responses.instruction_id as content_digest,
    null::varchar as other_answer,
    '' as other_digest,
    '' as shown_first,
    [responses.reference][1:0] as feedbacks,
    ['rubric'] as criteria,
    'rubric' as criterion,
    0::bigint as sample,
    responses.score as level,
    responses.feedback,
    case when responses.status <> 'ok' then concat('the collected response is ', responses.status) end as left_out,
    concat('0x', left(sha256(concat_ws(chr(31), $seed, responses.benchmark, responses.context_digest)), 8))::ubigint / 4294967296.0
    < $held_out as is_held_out
from core_collected_responses as responses
inner join stg_items as items on responses.benchmark = items.benchmark and responses.item_id = items.item_id
left join shown
    on
        responses.benchmark = shown.benchmark
        and responses.item_id = shown.item_id
        and responses.context_digest = shown.context_digest
where
    responses.judge_id = $judge_id
    and responses.reading = $reading
    and responses.instructed_by = $built_on
    and responses.instructed_reading = $built_on_reading
    and list_contains($benchmarks, responses.benchmark)
order by responses.benchmark, responses.context_digest, responses.rubric_id, responses.instruction_id, responses.score
