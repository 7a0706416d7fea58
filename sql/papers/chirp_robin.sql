-- grain: one row per Robin model x what it is ranked by: the scaled average of published benchmarks, Elo of a rater on CHIRP (the median
-- over bootstraps), and its training loss (CHIRP, Figures 2 and 7)
select
    model as row_key,
    'scaled' as column_key,
    scaled_average as value,
    n_scores as n,
    'it lacks the score of a benchmark' as reason
from rpt_scaled_average
where benchmark = 'chirp_all_robin'
union all
select
    found.model as row_key,
    coalesce(names.alias, found.rater) as column_key,
    found.median as value,
    found.n,
    found.reason
from rpt_rankings as found
left join core_judge_names as names on found.rater = names.judge
where
    found.benchmark = 'chirp_all_robin'
    and (found.method, found.category, found.criterion) = ('elo', '*', 'overall')
union all
select
    model as row_key,
    'loss' as column_key,
    training_loss as value,
    1 as n,
    'its training loss is not known' as reason
from models
where benchmark = 'chirp_all_robin'
