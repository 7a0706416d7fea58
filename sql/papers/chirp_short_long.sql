-- grain: one row per question of GQA x model whose short and long answers people grade differently (CHIRP, Table 12)
with graded as (
    select distinct
        item_id,
        answer_id,
        model,
        style,
        human
    from scores_with_people
    where benchmark = 'gqa_sample' and human_criterion = 'correctness'
)

select
    long.item_id as question_id,
    long_texts.prompt as question,
    long_texts.references as ground_truth,
    long.model,
    long_texts.text as long_answer,
    long.human as long_is_right,
    short_texts.text as short_answer,
    short.human as short_is_right
from graded as long
inner join graded as short on long.item_id = short.item_id and long.model = short.model and short.style = 'short'
inner join core_answers as long_texts
    on long_texts.benchmark = 'gqa_sample' and long.item_id = long_texts.item_id and long.answer_id = long_texts.answer_id
inner join core_answers as short_texts
    on short_texts.benchmark = 'gqa_sample' and short.item_id = short_texts.item_id and short.answer_id = short_texts.answer_id
where long.style = 'long' and long.human <> short.human
order by long.item_id, long.model
limit 20
