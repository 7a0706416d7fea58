-- grain: one row per rater x pair of answers x criterion x sample: the rater's choice beside the one of people. Raters are judges, and `human`:
-- all people together. `choice` is a, b, tie or inconsistent (both orders differ), null where the rater has none that can be read;
-- `preference_b` is 1 where b wins, 0 where a does, else a half. People's choice is that of most, `human_preference_b` the mean
with choices as (
    select
        benchmark,
        item_id,
        answer_a,
        answer_b,
        rater,
        criterion,
        sample,
        status,
        coalesce(choice, case when status = 'inconsistent' then 'inconsistent' end) as choice,
        preference_b
    from core_choices
),

held as (
    select
        benchmark,
        item_id,
        answer_a,
        answer_b,
        criterion,
        choice,
        count(*) as n,
        sum(count(*)) over (partition by benchmark, item_id, answer_a, answer_b, criterion) as n_all
    from choices
    where rater like 'human:%' and choice is not null
    group by benchmark, item_id, answer_a, answer_b, criterion, choice
),

people as (
    select
        choices.benchmark,
        choices.item_id,
        choices.answer_a,
        choices.answer_b,
        choices.criterion,
        any_value(held.choice) as human_choice,
        round_mean(avg(choices.preference_b)) as human_preference_b,
        count(choices.preference_b) as n_annotators
    from choices
    left join held
        on
            choices.benchmark = held.benchmark
            and choices.item_id = held.item_id
            and choices.answer_a = held.answer_a
            and choices.answer_b = held.answer_b
            and choices.criterion = held.criterion
            and 2 * held.n > held.n_all
    where choices.rater like 'human:%'
    group by choices.benchmark, choices.item_id, choices.answer_a, choices.answer_b, choices.criterion
),

raters as (
    select * from choices
    where rater not like 'human:%'
    union all by name
    select
        benchmark,
        item_id,
        answer_a,
        answer_b,
        'human' as rater,
        criterion,
        0 as sample,
        'ok' as status,
        human_choice as choice,
        human_preference_b as preference_b
    from people
)

select
    raters.benchmark,
    raters.rater,
    raters.criterion,
    a.model as model_a,
    b.model as model_b,
    raters.choice,
    people.human_choice,
    raters.preference_b,
    people.human_preference_b,
    people.n_annotators,
    raters.status,
    a.task,
    a.category,
    a.split,
    a.style as style_a,
    b.style as style_b,
    length(a.text) as characters_a,
    length(b.text) as characters_b,
    raters.item_id,
    raters.answer_a,
    raters.answer_b,
    raters.sample,
    raters.benchmark || '/' || a.cluster as cluster
from raters
inner join core_answers as a
    on raters.benchmark = a.benchmark and raters.item_id = a.item_id and raters.answer_a = a.answer_id
inner join core_answers as b
    on raters.benchmark = b.benchmark and raters.item_id = b.item_id and raters.answer_b = b.answer_id
left join people
    on
        raters.benchmark = people.benchmark
        and raters.item_id = people.item_id
        and raters.answer_a = people.answer_a
        and raters.answer_b = people.answer_b
        and raters.criterion = people.criterion
