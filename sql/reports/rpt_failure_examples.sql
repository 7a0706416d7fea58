-- grain: one row per answer on which people and string matching differ x who labelled it (null: nobody): the rows behind rpt_failure_cases,
-- rpt_failure_modes and rpt_failure_scores. `categories` hold of it; `item_labels` are what others said of its item
with cases as (
    select * from core_failure_cases
    where case_kind <> 'other'
),

labels as (
    select
        benchmark,
        item_id,
        answer_id,
        labelled_by,
        labeller,
        coalesce(list(category order by category) filter (where holds), []) as categories
    from core_failure_labels
    where status = 'ok'
    group by benchmark, item_id, answer_id, labelled_by, labeller
),

about_items as (
    select
        benchmark,
        item_id,
        list(distinct label order by label) as item_labels
    from stg_item_labels
    where holds
    group by benchmark, item_id
),

scores as (
    select
        scores.benchmark,
        scores.item_id,
        scores.answer_id,
        scores.alias,
        scores.criterion,
        round_mean(avg(scores.score_0_1)) as score
    from core_scores as scores
    semi join cases
        on
            scores.benchmark = cases.benchmark
            and scores.item_id = cases.item_id
            and scores.answer_id = cases.answer_id
    group by scores.benchmark, scores.item_id, scores.answer_id, scores.alias, scores.criterion
),

scores_of as (
    select
        benchmark,
        item_id,
        answer_id,
        list(struct_pack(metric := alias, criterion := criterion, score := score) order by alias, criterion) as scores
    from scores
    group by benchmark, item_id, answer_id
)

select
    cases.benchmark,
    cases.case_kind,
    cases.item_id,
    cases.answer_id,
    cases.model,
    answers.prompt,
    answers.references,
    answers.text as answer,
    cases.metric,
    cases.metric_score,
    cases.human_score,
    labels.labelled_by,
    labels.labeller,
    labels.categories,
    about_items.item_labels,
    scores_of.scores
from cases
inner join core_answers as answers
    on
        cases.benchmark = answers.benchmark
        and cases.item_id = answers.item_id
        and cases.answer_id = answers.answer_id
left join labels
    on
        cases.benchmark = labels.benchmark
        and cases.item_id = labels.item_id
        and cases.answer_id = labels.answer_id
left join about_items on cases.benchmark = about_items.benchmark and cases.item_id = about_items.item_id
left join scores_of
    on
        cases.benchmark = scores_of.benchmark
        and cases.item_id = scores_of.item_id
        and cases.answer_id = scores_of.answer_id
order by cases.benchmark, cases.case_kind, cases.item_id, cases.answer_id, labels.labelled_by, labels.labeller
