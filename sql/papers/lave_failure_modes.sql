-- grain: one row per failure category: of the answers that people labelled, the share of which it holds (LAVE, Table 1). Answers are those that
-- string matching misses: VQA accuracy below 0.5 where at least 4 of 5 people say correct
with labels as (
    select
        labels.benchmark || '/' || labels.item_id || '/' || labels.answer_id as answer,
        labels.category,
        labels.holds
    from failure_labels as labels
    semi join core_failure_cases as cases
        on
            labels.benchmark = cases.benchmark
            and labels.item_id = cases.item_id
            and labels.answer_id = cases.answer_id
            and cases.case_kind = 'missed'
    where labels.benchmark in ('vqav2', 'vg_qa', 'okvqa')
),

labelled as (
    select count(distinct answer) as n
    from labels
)

select
    labels.category as row_key,
    'share' as column_key,
    count(distinct labels.answer) filter (where labels.holds) / any_value(labelled.n) as value,
    any_value(labelled.n) as n,
    null as reason
from labels
cross join labelled
group by labels.category
