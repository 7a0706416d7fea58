-- question: Which right answers does string matching miss, and what do the judges say of those?
-- grain: one row per benchmark x labeller x category of failure x judge or metric x its criterion: the category's share of the cases, and the
-- mean score of the answers of which it holds; category `*` is all cases
-- option benchmark: only this benchmark
-- option case_kind = missed: right answers that are missed, or wrong ones that pass: missed or reverse
-- option judge: only this judge or metric, by alias
select
    scores.benchmark,
    scores.labelled_by,
    scores.category,
    scores.metric as judge,
    scores.criterion,
    modes.n_holds,
    modes.share,
    scores.n,
    scores.low,
    scores.high,
    scores.mean
from rpt_failure_scores as scores
left join rpt_failure_modes as modes
    on
        scores.benchmark = modes.benchmark
        and scores.case_kind = modes.case_kind
        and scores.labelled_by = modes.labelled_by
        and scores.labeller = modes.labeller
        and scores.category = modes.category
where
    scores.case_kind = $case_kind
    and ($benchmark::varchar is null or scores.benchmark = $benchmark)
    and ($judge::varchar is null or scores.metric = $judge)
order by
    scores.benchmark asc, scores.labelled_by asc, scores.labeller asc, scores.category <> '*' asc, modes.share desc, scores.category asc,
    scores.mean desc, judge asc, scores.criterion asc
