-- grain: one row per benchmark x pair of raters x criterion x task x category x style x label of one x label of the other: how many answers
-- or pairs both labelled so. judge_a is the lesser name; labels are core_labels', sample 0 of each. Raters who give more than 21 different
-- labels are left out, for they hardly ever give two answers the same. `style` of a pair is null where its answers have not the same one
with labelled as not materialized (
    select
        *,
        hash(benchmark, criterion, rater) as rater_hash
    from core_labels
    where sample = 0
),

-- one cheap pass leaves out most: an estimate is some percent off, and 1,000 is far from 21
few_labels as materialized (
    select rater_hash
    from labelled
    group by rater_hash
    having approx_count_distinct(score_0_1) < 1000
),

raters as (
    select
        labelled.benchmark,
        labelled.criterion,
        labelled.rater
    from labelled
    inner join few_labels on labelled.rater_hash = few_labels.rater_hash
    group by labelled.benchmark, labelled.criterion, labelled.rater
    having count(distinct labelled.score_0_1) + count(distinct labelled.choice) <= 21
    qualify count(*) over (partition by labelled.benchmark, labelled.criterion) > 1
),

-- a pair has the style that both of its answers have
pair_styles as (
    select
        pairs.benchmark,
        pairs.item_id,
        pairs.subject,
        any_value(coalesce(a.style, '(none)')) as style
    from (
        select distinct
            benchmark,
            item_id,
            answer_a,
            answer_b,
            answer_a || ' / ' || answer_b as subject
        from core_choices
        where sample = 0
    ) as pairs
    inner join stg_answers as a
        on pairs.benchmark = a.benchmark and pairs.item_id = a.item_id and pairs.answer_a = a.answer_id
    left join stg_answers as b
        on pairs.benchmark = b.benchmark and pairs.item_id = b.item_id and pairs.answer_b = b.answer_id
    where b.answer_id is null or a.style is not distinct from b.style
    group by pairs.benchmark, pairs.item_id, pairs.subject
),

styles as (
    select
        benchmark,
        item_id,
        answer_id as subject,
        false as is_pair,
        coalesce(style, '(none)') as style
    from stg_answers
    union all by name
    select
        benchmark,
        item_id,
        subject,
        true as is_pair,
        style
    from pair_styles
),

labels as (
    select
        labelled.*,
        items.task,
        coalesce(items.category, '(none)') as category,
        styles.style
    from labelled
    inner join stg_items as items on labelled.benchmark = items.benchmark and labelled.item_id = items.item_id
    left join styles
        on
            labelled.benchmark = styles.benchmark
            and labelled.item_id = styles.item_id
            and labelled.subject = styles.subject
            and styles.is_pair = (labelled.choice is not null)
    semi join raters
        on labelled.benchmark = raters.benchmark and labelled.criterion = raters.criterion and labelled.rater = raters.rater
)

select
    a.benchmark,
    a.rater as judge_a,
    b.rater as judge_b,
    a.criterion,
    a.task,
    a.category,
    a.style,
    a.label as label_a,
    b.label as label_b,
    count(*) as n
from labels as a
inner join labels as b
    on
        a.benchmark = b.benchmark
        and a.item_id = b.item_id
        and a.subject = b.subject
        and a.criterion = b.criterion
        and a.rater < b.rater
group by a.benchmark, a.rater, b.rater, a.criterion, a.task, a.category, a.style, a.label, b.label
