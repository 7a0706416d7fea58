-- question: Which right answers does string matching miss, and what do the judges say of those?
-- grain: one row per benchmark x labeller x category of failure x judge or metric x its criterion: the category's share of the cases, and the
-- mean score of the answers of which it holds; category `*` is all cases, and one that never holds has no judge
-- about: category, judge, share, mean
-- option benchmark: only this benchmark
-- option case_kind = missed: right answers that are missed, or wrong ones that pass: missed or reverse
-- option judge: only this judge or metric, by alias
with modes as (
    select
        benchmark,
        case_kind,
        labelled_by,
        labeller,
        category,
        n_holds,
        share
    from rpt_failure_modes
    where benchmark <> '*' and model = '*'
)

select
    coalesce(scores.benchmark, modes.benchmark) as benchmark,
    coalesce(scores.labelled_by, modes.labelled_by) as labelled_by,
    coalesce(scores.category, modes.category) as category,
    scores.metric as judge,
    scores.criterion,
    modes.n_holds,
    modes.share,
    scores.n,
    scores.low,
    scores.high,
    scores.reason,
    scores.mean
from rpt_failure_scores as scores
full outer join modes
    on
        scores.benchmark = modes.benchmark
        and scores.case_kind = modes.case_kind
        and scores.labelled_by = modes.labelled_by
        and scores.labeller = modes.labeller
        and scores.category = modes.category
where
    coalesce(scores.case_kind, modes.case_kind) = $case_kind
    and ($benchmark::varchar is null or coalesce(scores.benchmark, modes.benchmark) = $benchmark)
    and ($judge::varchar is null or scores.metric = $judge)
order by
    coalesce(scores.benchmark, modes.benchmark) asc, coalesce(scores.labelled_by, modes.labelled_by) asc,
    coalesce(scores.labeller, modes.labeller) asc, coalesce(scores.category, modes.category) <> '*' asc, modes.share desc, category asc,
    scores.mean desc, judge asc, scores.criterion asc
