-- check: whatever people or recorded judges rated or labelled is there
-- grain: one row per rating, choice, score or label of an answer that is not (of a pair or a choice set: for each of its answers)
with rated as (
    select
        'human_ratings' as table_name,
        benchmark,
        item_id,
        answer_id,
        annotator as rater,
        source_file,
        locator
    from stg_human_ratings
    union all
    select
        'human_preferences' as table_name,
        benchmark,
        item_id,
        unnest([answer_a, answer_b]) as answer_id,
        annotator as rater,
        source_file,
        locator
    from stg_human_preferences
    union all
    select
        'choice_sets' as table_name,
        benchmark,
        item_id,
        unnest(answers) as answer_id,
        annotator as rater,
        source_file,
        locator
    from stg_choice_sets
    union all
    select
        'feedback_preferences' as table_name,
        benchmark,
        item_id,
        answer_id,
        annotator as rater,
        source_file,
        locator
    from stg_feedback_preferences
    union all
    select
        'recorded_verdicts' as table_name,
        benchmark,
        item_id,
        answer_id,
        judge as rater,
        source_file,
        locator
    from stg_recorded_verdicts
    union all
    select
        'recorded_duels' as table_name,
        benchmark,
        item_id,
        unnest([answer_a, answer_b]) as answer_id,
        judge as rater,
        source_file,
        locator
    from stg_recorded_duels
    union all
    select
        'recorded_scores' as table_name,
        benchmark,
        item_id,
        answer_id,
        metric as rater,
        source_file,
        locator
    from stg_recorded_scores
    union all
    select
        'failure_labels' as table_name,
        benchmark,
        item_id,
        answer_id,
        labeller as rater,
        source_file,
        locator
    from stg_failure_labels
)

select
    rated.table_name,
    rated.benchmark,
    rated.item_id,
    rated.answer_id,
    rated.rater,
    rated.source_file,
    rated.locator
from rated
anti join stg_answers as answers
    on rated.benchmark = answers.benchmark and rated.item_id = answers.item_id and rated.answer_id = answers.answer_id
