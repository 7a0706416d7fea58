"""Tables that a report writes back into the lake, for SQL to read again."""

import pandera.polars as pa
import polars as pl

from judgelake.schemas.inputs import Instant
from judgelake.schemas.judging import Strict
from judgelake.schemas.values import FAILURE_CATEGORIES

COEFFICIENTS = ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c")
ACCURACIES = ("tie_calibrated_accuracy", "soft_pairwise_accuracy")
DIFFERENCE_TESTS = ("williams", "perm_both", "replicates")


class Correlations(Strict):
    """One row per benchmark × model × judge × criteria × rules × coefficient, with its bootstrap
    interval.

    `task`, `category` and `style` are '*' for all; a row of one of them, where a benchmark has
    several, pools the models. `model` is '*' for all rows pooled, '(mean of models)' for the mean
    of the models' coefficients (`n` sums their rows), '(systems)' for the models' means correlated
    (`n` counts models, which are resampled too). `benchmark` '*' is all the suite's benchmarks that
    have the target, where several do: `model` '*' pools their rows (LAVE's "Overall"), '(mean of
    cells)' is the mean over benchmark × model, clusters resampled within benchmarks. `n_cells` are
    the cells of a mean in which the coefficient is defined. `human_rule` `annotator:<name>` is one
    of at most 20 annotators. `against` is `human`, or the judge that is the target, `<judge>:0+1+2`
    where the suite names its samples (`human_criterion` is then its criterion). Judge `human
    ceiling` is one annotator against the mean of the others, mean over annotators: `human_rule`
    `mean_of_others`, under which judges stand on the very same targets. `sample_rule`: `mean` of
    the samples, then correlated; `correlate_then_mean`; `pooled`. Tie-calibrated accuracy is over
    pairs of answers to one item. `reason` says why there is no interval.
    """

    suite: str
    benchmark: str
    task: str
    category: str
    style: str
    model: str
    judge: str
    judge_criterion: str
    human_criterion: str
    human_rule: str
    sample_rule: str
    against: str
    coefficient: str = pa.Field(isin=(*COEFFICIENTS, *ACCURACIES))
    n: pl.Int64
    n_clusters: pl.Int64
    value: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    n_undefined: pl.Int64
    reason: str = pa.Field(nullable=True)
    n_cells: pl.Int64 = pa.Field(nullable=True)
    resamples: pl.Int64
    seed: pl.Int64
    reported_at: Instant


class JudgeComparisons(Strict):
    """One row per benchmark × model × target (criterion, rule) × coefficient × judge and criterion,
    beside the best of the others.

    `benchmark` and `model` are those of `correlations`: '*' pools, a model's name is its rows
    alone, '(mean of models)' compares inside the models, '(systems)' the models' means (`n` and
    `n_common` count models). `value` is of the judge's own `n` rows. Were its `n_missing` scores
    there, it could be no less than `least` and no more than `most` (worst cases); null for metrics,
    and where none is missing. `other` is the judge of the highest value, for that judge the
    runner-up: `common_value`, `other_value` and their `difference` are of the `n_common` rows both
    scored, with an interval that holds for all differences of the column at once. `p_holm` is
    corrected for all pairs of judges (Holm's step-down, the largest difference in place of
    Bonferroni's sum: Romano & Wolf 2005); where either value has no interval on these rows, or the
    difference is the same in all resamples, it is 1, and the difference has no interval.
    `n_undefined` resamples had no difference. `reason` says why `value` has no interval,
    `difference_reason` why `difference` has none.
    """

    suite: str
    benchmark: str
    model: str
    human_criterion: str
    human_rule: str
    against: str
    coefficient: str = pa.Field(isin=COEFFICIENTS)
    judge: str
    judge_criterion: str
    n: pl.Int64
    n_missing: pl.Int64
    value: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    least: pl.Float64 = pa.Field(nullable=True)
    most: pl.Float64 = pa.Field(nullable=True)
    other: str = pa.Field(nullable=True)
    other_criterion: str = pa.Field(nullable=True)
    n_common: pl.Int64 = pa.Field(nullable=True)
    common_value: pl.Float64 = pa.Field(nullable=True)
    other_value: pl.Float64 = pa.Field(nullable=True)
    difference: pl.Float64 = pa.Field(nullable=True)
    difference_low: pl.Float64 = pa.Field(nullable=True)
    difference_high: pl.Float64 = pa.Field(nullable=True)
    difference_reason: str = pa.Field(nullable=True)
    p_holm: pl.Float64 = pa.Field(nullable=True)
    n_undefined: pl.Int64 = pa.Field(nullable=True)
    is_best: pl.Boolean
    resamples: pl.Int64
    seed: pl.Int64
    reported_at: Instant


class DifferenceTests(Strict):
    """One row per benchmark × model × target × coefficient × test on request × judge that is
    compared with the leader, `judge`.

    `benchmark` and `model` are those of `judge_comparisons`. `williams`: t of `degrees`, for
    independent and jointly normal rows; null with a `reason` where rows share a cluster.
    `perm_both`: whole clusters, at '(systems)' whole models, swapped at random,
    `resamples` times, `n_undefined` of them without a coefficient. `replicates`: LAVE's t-test
    between bootstrap replicates, whose p falls with the number of resamples. All are of the
    `n_common` rows (models, at '(systems)') that both scored; `p_holm` is corrected for all pairs
    of judges by the same test, since the leader is chosen from the same data.
    """

    suite: str
    benchmark: str
    model: str
    human_criterion: str
    human_rule: str
    against: str
    coefficient: str = pa.Field(isin=COEFFICIENTS)
    test: str = pa.Field(isin=DIFFERENCE_TESTS)
    judge: str
    judge_criterion: str
    other: str
    other_criterion: str
    n_common: pl.Int64
    difference: pl.Float64 = pa.Field(nullable=True)
    statistic: pl.Float64 = pa.Field(nullable=True)
    degrees: pl.Float64 = pa.Field(nullable=True)
    p: pl.Float64 = pa.Field(nullable=True)
    p_holm: pl.Float64 = pa.Field(nullable=True)
    n_undefined: pl.Int64 = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    resamples: pl.Int64
    seed: pl.Int64
    reported_at: Instant


class PairedChanges(Strict):
    """One row per figure that is not what an earlier report said: their difference on the `n`
    answers that were scored both times, with its 95 % interval.

    `figure`: a `mean` (interval of a mean of differences) or an `agreement` of scores with people
    (both coefficients on the same resamples of clusters). `reason` says why there is no difference
    or no interval; then the view `changes` compares the two figures' own intervals.
    """

    suite: str
    base_reported_at: Instant
    figure: str = pa.Field(isin=("agreement", "mean"))
    benchmark: str
    judge: str
    model: str
    criterion: str
    n: pl.Int64
    difference: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    reported_at: Instant


class CorpusScores(Strict):
    """One row per benchmark × metric × model ('*' all pooled): the score of the corpus, with its
    bootstrap interval.

    `n` answers have a score, `n_missing` have none; `n_undefined` resamples had none;
    `reason` says why there is no interval.
    """

    suite: str
    benchmark: str
    judge: str
    metric: str
    model: str
    n: pl.Int64
    n_missing: pl.Int64
    n_clusters: pl.Int64
    value: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    n_undefined: pl.Int64
    reason: str = pa.Field(nullable=True)
    resamples: pl.Int64
    seed: pl.Int64
    reported_at: Instant


class RuleLabels(Strict):
    """One row per answer content × failure category that a rule decided, of the answers where
    people and string matching differ.
    """

    suite: str
    benchmark: str
    item_id: str
    content_digest: str
    labeller: str
    category: str = pa.Field(isin=FAILURE_CATEGORIES)
    holds: pl.Boolean
    reported_at: Instant


class Results(Strict):
    """One row per figure of a report that was kept: what it said of a judge or a model, so that a
    later report can be held to it.

    `figure`: `agreement` of a judge with people (Spearman, kappa of choices), `mean` or Bradley-
    Terry `rating` of a model by a judge, `coverage` of a judge (share of its cases with a score).
    A report that says what the one before said is not kept again; `run_id`: the suite's newest run.
    """

    suite: str
    run_id: str = pa.Field(nullable=True)
    figure: str = pa.Field(isin=("agreement", "mean", "rating", "coverage"))
    benchmark: str
    judge: str
    model: str
    criterion: str
    value: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    n: pl.Int64
    reported_at: Instant
