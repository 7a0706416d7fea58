"""What the figures of the page's chapters draw: one select over the report views each, of one
benchmark.
"""

from collections.abc import Mapping

_UNCUT = "benchmark = $benchmark and (task, category, style) = ('*', '*', '*')"

FIGURE_QUERIES: Mapping[str, str] = {
    "modes": """
select case_kind, labelled_by, labeller, category, n_holds, n, share, low, high
from rpt_failure_modes where benchmark = $benchmark and model = '*'
order by labelled_by, labeller, category, case_kind
""",
    "leniency": """
select judge, judge_criterion, human_criterion, n, difference as value, low, high
from rpt_leniency where benchmark = $benchmark and model = '*' order by all
""",
    "length": """
select judge, judge_criterion, human_criterion, n, slope as value, low, high
from rpt_bias_length where benchmark = $benchmark order by all
""",
    "position": """
select judge, criterion, n, share_first as value, low, high
from rpt_bias_position where benchmark = $benchmark order by all
""",
    "longer": """
select judge, criterion, n, share_longer as value, low, high
from rpt_bias_longer where benchmark = $benchmark order by all
""",
    "calibration": """
select judge, judge_criterion, human_criterion, score_from, n, judge_mean, human_mean
from rpt_calibration where benchmark = $benchmark order by all
""",
    "winrates": """
select judge, criterion, model_a, model_b, n, win_rate from rpt_win_rate
where benchmark = $benchmark order by all
""",
    "rankings": """
select rater, criterion, model, rank, rating, low, high from rpt_rankings
where benchmark = $benchmark and category = '*' and method = 'bradley_terry' order by all
""",
    "attributes": """
select rater as judge, criterion, attribute, prefers, n, agreement as value, low, high
from rpt_attribute_agreement where benchmark = $benchmark and category = '*' order by all
""",
    "sizes": """
select rankings.rater, rankings.criterion, rankings.model, rankings.rating,
    models.llm_parameters_b as "language model",
    models.vision_encoder_parameters_b as "vision encoder"
from rpt_rankings as rankings inner join stg_models as models using (benchmark, model)
where benchmark = $benchmark and rankings.category = '*' and rankings.method = 'bradley_terry'
    and rankings.rating is not null
order by all
""",
    "costs": """
select judge, cost_usd_per_1000 as usd from rpt_costs
where list_contains(benchmarks, $benchmark) and cost_usd_per_1000 > 0 order by all
""",
    "people": """
select judge, model, human_mean from rpt_leniency
where benchmark = $benchmark and model <> '*'
order by judge, judge_criterion <> human_criterion, human_criterion desc, model
""",
    "reliability": f"""
select raters, criterion, statistic, n, value, low, high from rpt_reliability
where {_UNCUT} and statistic = 'krippendorff_alpha' order by all
""",
}
