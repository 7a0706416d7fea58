-- grain: one row per item (x rubric with $rubrics: its own, else the one that was written for it, beside its written reference answer) that
-- a judge is wanted for, with what it sees beside the answer;
-- $limit: the first items by key per benchmark; $captioner: whose caption (a data set's, or a captioning judge's of $suite);
-- $image: absent, true or swapped by $seed
with items as (
    select *
    from stg_items
    where list_contains($benchmarks, benchmark) and list_contains($tasks, task)
    qualify $item_limit is null or row_number() over (partition by benchmark order by item_id) <= $item_limit
),

captions as (
    select
        benchmark,
        image_uri,
        min(text) as caption
    from stg_captions
    where captioner = $captioner
    group by benchmark, image_uri
    union all
    select
        written.benchmark,
        written.image_uri,
        min(written.text) as caption
    from stg_generated_captions as written
    semi join stg_judges as judges
        on
            written.judge_id = judges.judge_id
            and judges.kind = 'captioner'
            and judges.suite = $suite
            and judges.alias = $captioner
    where written.status = 'ok'
    group by written.benchmark, written.image_uri
),

benchmark_images as (
    select
        benchmark,
        unnest(images) as image
    from stg_items
    where $image = 'swapped' and list_contains($benchmarks, benchmark)
),

distinct_images as (
    select
        benchmark_images.benchmark,
        image.sha256,
        min(image) as image
    from benchmark_images
    where image.sha256 is not null
    group by benchmark_images.benchmark, image.sha256
),

ring as (
    select
        benchmark,
        sha256,
        coalesce(
            lead(image) over (partition by benchmark order by sha256(sha256 || $seed)),
            first_value(image) over (partition by benchmark order by sha256(sha256 || $seed))
        ) as other
    from distinct_images
    qualify count(*) over (partition by benchmark) > 1
),

own_images as (
    select
        benchmark,
        item_id,
        generate_subscripts(images, 1) as place,
        unnest(images) as image
    from items
    where $image <> 'absent'
),

shown_images as (
    select
        own_images.benchmark,
        own_images.item_id,
        list(
            case
                when $image = 'true' then own_images.image
                else coalesce(ring.other, struct_pack(uri := own_images.image.uri, sha256 := null::varchar))
            end
            order by own_images.place
        ) as images
    from own_images
    left join ring on own_images.benchmark = ring.benchmark and own_images.image.sha256 = ring.sha256
    group by own_images.benchmark, own_images.item_id
),

item_rubrics as (
    select
        links.benchmark,
        links.item_id,
        links.rubric_id,
        rubrics.criterion,
        rubrics.levels,
        count(*) over (partition by links.benchmark, links.item_id) as n_of_item
    from stg_item_rubrics as links
    inner join stg_rubrics as rubrics on links.benchmark = rubrics.benchmark and links.rubric_id = rubrics.rubric_id
    where $rubrics
    union all
    select
        benchmark,
        item_id,
        rubric_id,
        description as criterion,
        levels,
        1 as n_of_item
    from core_augmentations
    where $rubrics and list_contains($benchmarks, benchmark)
),

augmented_references as (
    select
        benchmark,
        item_id,
        reference
    from core_augmentations
    where $rubrics and reference is not null and list_contains($benchmarks, benchmark)
),

seen as (
    select
        items.benchmark,
        items.item_id,
        items.task,
        items.prompt,
        case when written.reference is null then items.references else [written.reference] end as "references",
        captions.caption,
        coalesce(shown_images.images, []) as images,
        case when $regions then items.regions else [] end as regions,
        item_rubrics.criterion as rubric_criterion,
        item_rubrics.levels as rubric_levels,
        case
            when $rubrics and max(item_rubrics.n_of_item) over (partition by items.benchmark) > 1
                then concat('rubric:', item_rubrics.rubric_id)
            when $rubrics then 'rubric'
        end as rubric_label,
        written.reference as written_reference
    from items
    left join augmented_references as written on items.benchmark = written.benchmark and items.item_id = written.item_id
    left join captions on items.benchmark = captions.benchmark and items.images[1].uri = captions.image_uri
    left join shown_images on items.benchmark = shown_images.benchmark and items.item_id = shown_images.item_id
    left join item_rubrics on items.benchmark = item_rubrics.benchmark and items.item_id = item_rubrics.item_id
)

select
    seen.* exclude (written_reference),
    case
        when len(seen.images) = 0 and len(seen.regions) = 0 and seen.rubric_criterion is null then coalesce(left(sha256(seen.caption), 16), '')
        else
            left(
                sha256(
                    coalesce(seen.caption, '') || chr(31)
                    || array_to_string([coalesce(image.sha256, image.uri) for image in seen.images], chr(30)) || chr(31)
                    || array_to_string([concat_ws(' ', box.x, box.y, box.width, box.height) for box in seen.regions], chr(30)) || chr(31)
                    || coalesce(seen.rubric_criterion, '') || chr(31)
                    || coalesce(array_to_string(seen.rubric_levels, chr(30)), '')
                    || coalesce(chr(31) || seen.written_reference, '')
                ),
                16
            )
    end as context_digest
from seen
