-- grain: one row per caption of MMHE on whose overall score HarmonicEval and FLEUR differ most, for those of which people rated a criterion
-- lowest; HarmonicEval's ratings and reasons by criterion beside people's (HarmonicEval, Figure 5)
with overall as (
    select
        item_id,
        answer_id,
        max(score_0_1) filter (where alias = 'harmonic') as harmonic,
        max(score_0_1) filter (where alias = 'fleur') as fleur
    from core_scores
    where benchmark = 'mmhe_ic' and criterion = 'overall' and sample = 0
    group by item_id, answer_id
),

people as (
    select
        item_id,
        answer_id,
        criterion,
        avg(rating) as rating
    from human_ratings
    where benchmark = 'mmhe_ic'
    group by item_id, answer_id, criterion
),

rated as (
    select
        people.item_id,
        people.answer_id,
        list(
            people.criterion || ': people ' || round(people.rating, 1) || ', HarmonicEval ' || coalesce(round(scores.rating, 1)::varchar, '-')
            || coalesce(' (' || scores.rationale || ')', '')
            order by people.criterion
        ) as criteria
    from people
    left join core_scores as scores
        on
            scores.benchmark = 'mmhe_ic'
            and scores.alias = 'harmonic'
            and scores.sample = 0
            and people.item_id = scores.item_id
            and people.answer_id = scores.answer_id
            and people.criterion = scores.criterion
    group by people.item_id, people.answer_id
)

select
    answers.item_id as input,
    answers.model,
    answers.text,
    1 + 4 * overall.harmonic as harmoniceval,
    overall.fleur,
    rated.criteria
from overall
inner join rated on overall.item_id = rated.item_id and overall.answer_id = rated.answer_id
inner join core_answers as answers
    on answers.benchmark = 'mmhe_ic' and overall.item_id = answers.item_id and overall.answer_id = answers.answer_id
where overall.harmonic is not null and overall.fleur is not null
order by abs(overall.harmonic - overall.fleur) desc, answers.item_id asc, answers.model asc
limit 2
