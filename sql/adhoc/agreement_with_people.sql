-- question: How often do judges and people say the same, beyond what chance gives?
-- grain: one row per benchmark x criterion x two raters, of whom one or both are people (human:<annotator>), who labelled the same answers or
-- chose between the same two; the highest kappa first
-- about: rater_a, rater_b, kappa
-- option benchmark: only this benchmark (`*` is all together)
-- option criterion: only this criterion (`*` is all together)
-- option pairs = mixed: a judge and a person, or two people, which is what a judge can reach: mixed, people or both
select
    found.benchmark,
    found.criterion,
    coalesce(a.alias, found.judge_a) as rater_a,
    coalesce(b.alias, found.judge_b) as rater_b,
    found.n,
    found.agreement,
    found.reason,
    found.kappa
from rpt_agreement as found
left join core_judge_names as a on found.judge_a = a.judge
left join core_judge_names as b on found.judge_b = b.judge
where
    case $pairs
        when 'mixed' then starts_with(found.judge_a, 'human:') <> starts_with(found.judge_b, 'human:')
        when 'people' then starts_with(found.judge_a, 'human:') and starts_with(found.judge_b, 'human:')
        else starts_with(found.judge_a, 'human:') or starts_with(found.judge_b, 'human:')
    end
    and found.task = '*' and found.category = '*' and found.style = '*'
    and found.benchmark = coalesce($benchmark::varchar, case when found.benchmark <> '*' then found.benchmark end)
    and found.criterion = coalesce($criterion::varchar, case when found.criterion <> '*' then found.criterion end)
order by found.benchmark asc, found.criterion asc, found.kappa desc nulls last, rater_a asc, rater_b asc
