-- question: How often do judges and people say the same, beyond what chance gives?
-- grain: one row per benchmark x criterion x two raters, of whom one or both are people (human:<annotator>), who labelled the same answers or
-- chose between the same two; the highest kappa first
-- option benchmark: only this benchmark (`*` is all together)
-- option criterion: only this criterion (`*` is all together)
-- option pairs = mixed: a judge and a person, or two people, which is what a judge can reach: mixed, people or both
select
    benchmark,
    criterion,
    judge_a as rater_a,
    judge_b as rater_b,
    n,
    agreement,
    kappa,
    reason
from rpt_agreement
where
    case $pairs
        when 'mixed' then starts_with(judge_a, 'human:') <> starts_with(judge_b, 'human:')
        when 'people' then starts_with(judge_a, 'human:') and starts_with(judge_b, 'human:')
        else starts_with(judge_a, 'human:') or starts_with(judge_b, 'human:')
    end
    and task = '*' and category = '*' and style = '*'
    and benchmark = coalesce($benchmark::varchar, case when benchmark <> '*' then benchmark end)
    and criterion = coalesce($criterion::varchar, case when criterion <> '*' then criterion end)
order by benchmark asc, criterion asc, kappa desc nulls last, rater_a asc, rater_b asc
