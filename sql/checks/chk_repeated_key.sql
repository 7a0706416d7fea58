-- check: no two current rows of a table have the same key
-- grain: one row per table x benchmark x item x rest of the key that stands more than once
with keys as (
    select
        'items' as table_name,
        benchmark,
        item_id,
        '' as rest
    from stg_items
    union all
    select
        'answers' as table_name,
        benchmark,
        item_id,
        answer_id as rest
    from stg_answers
    union all
    select
        'human_ratings' as table_name,
        benchmark,
        item_id,
        concat_ws(' | ', answer_id, criterion, annotator) as rest
    from stg_human_ratings
    union all
    select
        'human_preferences' as table_name,
        benchmark,
        item_id,
        concat_ws(' | ', answer_a, answer_b, criterion, annotator) as rest
    from stg_human_preferences
    union all
    select
        'choice_sets' as table_name,
        benchmark,
        item_id,
        concat_ws(' | ', choice_set, criterion, annotator) as rest
    from stg_choice_sets
    union all
    select
        'feedback_preferences' as table_name,
        benchmark,
        item_id,
        concat_ws(' | ', answer_id, criterion, author_a, author_b, annotator) as rest
    from stg_feedback_preferences
    union all
    select
        'recorded_verdicts' as table_name,
        benchmark,
        item_id,
        concat_ws(' | ', answer_id, judge, criterion, sample) as rest
    from stg_recorded_verdicts
    union all
    select
        'recorded_duels' as table_name,
        benchmark,
        item_id,
        concat_ws(' | ', answer_a, answer_b, judge, criterion, sample, shown_first) as rest
    from stg_recorded_duels
    union all
    select
        'recorded_scores' as table_name,
        benchmark,
        item_id,
        concat_ws(' | ', answer_id, metric) as rest
    from stg_recorded_scores
    union all
    select
        'failure_labels' as table_name,
        benchmark,
        item_id,
        concat_ws(' | ', answer_id, category, labeller) as rest
    from stg_failure_labels
    union all
    select
        'item_labels' as table_name,
        benchmark,
        item_id,
        concat_ws(' | ', label, labeller) as rest
    from stg_item_labels
)

select
    table_name,
    benchmark,
    item_id,
    rest,
    count(*) as n
from keys
group by table_name, benchmark, item_id, rest
having count(*) > 1
