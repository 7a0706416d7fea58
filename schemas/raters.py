"""Report tables about raters: how they rank models, agree with each other, contradict themselves
and grade. Other reports: `reports`.

Raters are judges, recorded ones too, `human:<annotator>`, and, where several answers to a question
are put in order, `human`: all annotators' rows together. Every interval is of 95 % and of
`resamples` resamples of clusters, drawn from `seed`, the same for all raters of a benchmark;
`n_undefined` of them had no value. A `reason` says why there is no interval. Parts (`task`,
`category`, `style`, `pairs`) and `kind` are null in rows of reports that had none: all together.
"""

import pandera.polars as pa
import polars as pl

from judgelake.schemas.inputs import Instant
from judgelake.schemas.judging import Strict

RATING_METHODS = ("bradley_terry", "elo")
RELIABILITIES = ("fleiss_kappa", "alpha_nominal", "alpha_ordinal", "alpha_interval")
COMPARED_PAIRS = ("all", "surveyed")
LABEL_KINDS = ("score", "choice")
CHANCE_TERMS = ("nominal", "matchups", "linear", "quadratic", "none")


class ResampledTable(Strict):
    """What every row holds: the suite and benchmark, and how it was resampled."""

    suite: str
    benchmark: str
    n_undefined: pl.Int64
    resamples: pl.Int64
    seed: pl.Int64
    reported_at: Instant


class Rankings(ResampledTable):
    """One row per benchmark × rater × criterion × category ('*' all) × method × model, rated among
    the models of those comparisons.

    `bradley_terry` is the ranking to read; `elo` is there as CHIRP reports it: `rating` is the mean
    over orders, `mean` and `median` are those of resamples each in an order of its own, and the
    ends their spread, no confidence interval; `percentiles` (0 to 100) keep the distribution,
    101 numbers however many are drawn. `rating` starts at (Elo) or averages (Bradley-Terry)
    `initial`; `scale` more means ten to one odds; `k` is Elo's step, null for Bradley-Terry. A tie
    is half a win, an inconsistent pair too; `n_missing` comparisons had no preference. Models that
    no comparison links are rated apart: `group_number` 1 is the largest group, and places hold
    within a group. `reason` says why a rating or its ends are null, how a rating without a finite
    maximum of the likelihood was found, and that there are several groups. `rank_low` to
    `rank_high` are the places that stay open; `above_next`: surely above the model that follows.
    `orders_differ`: Bradley-Terry and Elo order the group differently. `warning` says so, and where
    Elo favours models for how often they were compared.
    """

    rater: str
    criterion: str
    category: str
    method: str = pa.Field(isin=RATING_METHODS)
    model: str
    n: pl.Int64
    n_missing: pl.Int64
    n_clusters: pl.Int64
    group_number: pl.Int64 = pa.Field(nullable=True)
    rating: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    mean: pl.Float64 = pa.Field(nullable=True)
    median: pl.Float64 = pa.Field(nullable=True)
    percentiles: pl.List(pl.Float64) = pa.Field(nullable=True)
    rank: pl.Int64 = pa.Field(nullable=True)
    rank_low: pl.Int64 = pa.Field(nullable=True)
    rank_high: pl.Int64 = pa.Field(nullable=True)
    above_next: pl.Boolean = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    orders_differ: pl.Boolean = pa.Field(nullable=True)
    warning: str = pa.Field(nullable=True)
    initial: pl.Float64
    k: pl.Float64 = pa.Field(nullable=True)
    scale: pl.Float64


class Kappas(ResampledTable):
    """One row per benchmark × two raters × kind × criterion × task, category or style × chance
    term: agreement and kappa on what both labelled, sample 0 of each.

    `*` is all: criterion `*` all criteria, where there are several, each label of each a unit
    (CHIRP, Table 1); benchmark `*` all of a suite that has several. Rows of one task, category or
    style (`(none)`: none is given; a pair has one where both answers have it) are there where
    there are several, never of two of them at once.

    Labels (`kind`) are choices between two answers, or scores of answers. `nominal` is Cohen's
    kappa; `matchups` (choices) takes chance by matchup of models (CHIRP, C.2.5); `linear` and
    `quadratic` (scores of three levels and more) weight by distance. `n_inconsistent` rows are left
    out. `strength` is Landis and Koch's word; `n_undefined` is that of kappa. People as one rater
    are `human:* (majority)`, the label of more than half of them, and for scores of three levels
    and more `human:* (mean)`. A judge of likelihood chooses the likelier answer (CHIRP, C.2.7) of
    each pair, under each criterion that others chose by. Raters whose scales have unlike spans (1
    to 3, 1 to 5) have no labels in common, so no agreement and no kappa: their row has the chance
    term `none`, Spearman's and Kendall's tau-b correlation of their scores instead, and a `reason`.
    """

    rater_a: str
    rater_b: str
    kind: str = pa.Field(isin=LABEL_KINDS)
    criterion: str
    task: str
    category: str
    style: str
    chance: str = pa.Field(isin=CHANCE_TERMS)
    n: pl.Int64
    n_clusters: pl.Int64
    n_inconsistent: pl.Int64
    agreement: pl.Float64 = pa.Field(nullable=True)
    agreement_low: pl.Float64 = pa.Field(nullable=True)
    agreement_high: pl.Float64 = pa.Field(nullable=True)
    agreement_reason: str = pa.Field(nullable=True)
    kappa: pl.Float64 = pa.Field(nullable=True)
    kappa_low: pl.Float64 = pa.Field(nullable=True)
    kappa_high: pl.Float64 = pa.Field(nullable=True)
    kappa_reason: str = pa.Field(nullable=True)
    strength: str
    spearman: pl.Float64 = pa.Field(nullable=True)
    spearman_low: pl.Float64 = pa.Field(nullable=True)
    spearman_high: pl.Float64 = pa.Field(nullable=True)
    kendall_tau_b: pl.Float64 = pa.Field(nullable=True)
    kendall_tau_b_low: pl.Float64 = pa.Field(nullable=True)
    kendall_tau_b_high: pl.Float64 = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)


class Reliabilities(ResampledTable):
    """One row per benchmark × group of raters × kind × criterion × task, category or style ×
    statistic: agreement of all of them beyond chance, sample 0 of each; `*` is all, as in `kappas`.

    `raters`: `people`, `people and <judge>` (on what people labelled), `judges` (without those
    shown no image or another). Fleiss' kappa is over the units of exactly `per_unit` labels, alpha
    over those of two and more; `n_left_out` units have others. Inconsistent choices are no labels,
    raters of more than 21 different scores are left out, and labels of more than 25 levels together
    have the alpha for intervals alone; so have raters on scales of unlike spans, whose positions
    between the ends are compared, which `note` says. `strength` is Landis and Koch's word for a
    kappa.
    """

    raters: str
    kind: str = pa.Field(isin=LABEL_KINDS)
    criterion: str
    task: str
    category: str
    style: str
    statistic: str = pa.Field(isin=RELIABILITIES)
    n_raters: pl.Int64
    per_unit: pl.Int64 = pa.Field(nullable=True)
    n: pl.Int64
    n_left_out: pl.Int64
    n_clusters: pl.Int64
    value: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    strength: str = pa.Field(nullable=True)
    note: str = pa.Field(nullable=True)


class Contradictions(ResampledTable):
    """One row per benchmark × rater × criterion × pairs: questions with preferences, and those
    whose preferences run in a circle.

    Criterion `*` is all, where there are several: a question under each of them counts by itself.
    `surveyed` (CHIRP, C.2.8) are the pairs that people compared too, of judges who saw others.
    Only where the pairs of a question close a circle, which pairs of each model with one reference
    do not. `coin_flip_share` is what coin-flips would give on the same comparisons, simulated for
    `n_simulated` questions.
    """

    rater: str
    criterion: str
    pairs: str = pa.Field(isin=COMPARED_PAIRS)
    n_questions: pl.Int64
    n_clusters: pl.Int64
    n_contradictory: pl.Int64
    share: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    coin_flip_share: pl.Float64 = pa.Field(nullable=True)
    n_simulated: pl.Int64


class RankingOverlaps(Strict):
    """One row per benchmark × criterion × category × rating method × two raters: rank-biased
    overlap of their orders of models.

    1 is the same order, 0 none in common; a reader goes on to the next place with probability
    `persistence`, so the first places count most. Models that a rater leaves without a rating are
    not in its order; equal ratings are ordered by name.
    """

    suite: str
    benchmark: str
    criterion: str
    category: str
    method: str = pa.Field(isin=RATING_METHODS)
    rater_a: str
    rater_b: str
    n_models_a: pl.Int64
    n_models_b: pl.Int64
    n_common: pl.Int64
    persistence: pl.Float64
    overlap: pl.Float64 = pa.Field(nullable=True)
    reported_at: Instant


class AttributeAgreements(ResampledTable):
    """One row per benchmark × rater × criterion (`*` all) × category (`*` all) × attribute: share
    of the win of the model that has more (or less) of it.

    CHIRP's Tables 2 and 16; `n_left_out` comparisons are of models equal in it, of `n_ties` each
    model gets half. Distance correlation (Table 17) is that of the attribute with Elo ratings of
    the `n_models`, `p_value` that of `bias_corrected`.
    """

    rater: str
    criterion: str
    category: str
    attribute: str
    prefers: str = pa.Field(isin=("more", "less"))
    n: pl.Int64
    n_left_out: pl.Int64
    n_ties: pl.Int64
    n_clusters: pl.Int64
    agreement: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    n_models: pl.Int64
    distance_correlation: pl.Float64 = pa.Field(nullable=True)
    bias_corrected: pl.Float64 = pa.Field(nullable=True)
    p_value: pl.Float64 = pa.Field(nullable=True)
