"""Report tables about raters: how they rank models, agree with each other, contradict themselves and grade. Other reports: `reports`.

Raters are judges, recorded ones too, `human:<annotator>`, and, where several answers to a question are put in order, `human`: all
annotators' rows together. Every interval is of 95 % and of `resamples` resamples of clusters, drawn from `seed`, the same for all
raters of a benchmark; `n_undefined` of them had no value.
"""

import pandera.polars as pa
import polars as pl

from schemas.inputs import Instant
from schemas.judging import Strict

RATING_METHODS = ("elo", "bradley_terry")
CHANCE_TERMS = ("nominal", "matchups", "linear", "quadratic")


class Resampled(Strict):
    """What every row holds: the suite and benchmark, and how it was resampled."""

    suite: str
    benchmark: str
    n_undefined: pl.Int64
    resamples: pl.Int64
    seed: pl.Int64
    reported_at: Instant


class Rankings(Resampled):
    """One row per benchmark × rater × criterion × category ('*' all) × method × model, rated among the models of those comparisons.

    `rating` starts at (Elo) or averages (Bradley-Terry) `initial`; `scale` more means ten to one odds; `k` is Elo's step, null for
    Bradley-Terry. A tie is half a win, an inconsistent pair too; `n_missing` comparisons had no preference. Ratings that are not
    finite are null, and `reason` says why; an end is null where it is open. Elo's ends are a spread over orders and resamples.
    `rank_low` to `rank_high` are the places that the resamples leave open; `above_next`: surely above the model that follows.
    """

    rater: str
    criterion: str
    category: str
    method: str = pa.Field(isin=RATING_METHODS)
    model: str
    n: pl.Int64
    n_missing: pl.Int64
    n_clusters: pl.Int64
    rating: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    rank: pl.Int64 = pa.Field(nullable=True)
    rank_low: pl.Int64 = pa.Field(nullable=True)
    rank_high: pl.Int64 = pa.Field(nullable=True)
    above_next: pl.Boolean = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    initial: pl.Float64
    k: pl.Float64 = pa.Field(nullable=True)
    scale: pl.Float64


class Kappas(Resampled):
    """One row per benchmark × two raters × criterion × chance term: agreement and kappa on what both labelled, sample 0 of each.

    Labels are choices between two answers, or scores of answers. `nominal` is Cohen's kappa; `matchups` (choices) takes chance by
    matchup of models (CHIRP, C.2.5); `linear` and `quadratic` (scores of three levels and more) weight by distance. `n_inconsistent`
    rows are left out. `strength` is Landis and Koch's word; `n_undefined` is that of kappa.
    """

    rater_a: str
    rater_b: str
    criterion: str
    chance: str = pa.Field(isin=CHANCE_TERMS)
    n: pl.Int64
    n_clusters: pl.Int64
    n_inconsistent: pl.Int64
    agreement: pl.Float64 = pa.Field(nullable=True)
    agreement_low: pl.Float64 = pa.Field(nullable=True)
    agreement_high: pl.Float64 = pa.Field(nullable=True)
    kappa: pl.Float64 = pa.Field(nullable=True)
    kappa_low: pl.Float64 = pa.Field(nullable=True)
    kappa_high: pl.Float64 = pa.Field(nullable=True)
    strength: str


class Contradictions(Resampled):
    """One row per benchmark × rater × criterion: questions with preferences, and those whose preferences run in a circle.

    Only where a question compares three models. `coin_flip_share` is what coin-flips would give on the same comparisons, simulated
    for `n_simulated` questions.
    """

    rater: str
    criterion: str
    n_questions: pl.Int64
    n_clusters: pl.Int64
    n_contradictory: pl.Int64
    share: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    coin_flip_share: pl.Float64 = pa.Field(nullable=True)
    n_simulated: pl.Int64


class GraderAccuracy(Resampled):
    """One row per benchmark × grader whose scores are 0 or 1 × criteria: its grading against people's (CHIRP, Table 7), sample 0.

    `n_left_out` answers were marked differently by two annotators, or neither right nor wrong. The error rates are shares of what
    people marked wrong, and right. `n_undefined` is that of accuracy.
    """

    judge: str
    judge_criterion: str
    human_criterion: str
    n: pl.Int64
    n_left_out: pl.Int64
    n_clusters: pl.Int64
    true_positives: pl.Int64
    false_positives: pl.Int64
    true_negatives: pl.Int64
    false_negatives: pl.Int64
    accuracy: pl.Float64 = pa.Field(nullable=True)
    accuracy_low: pl.Float64 = pa.Field(nullable=True)
    accuracy_high: pl.Float64 = pa.Field(nullable=True)
    false_positive_rate: pl.Float64 = pa.Field(nullable=True)
    false_positive_low: pl.Float64 = pa.Field(nullable=True)
    false_positive_high: pl.Float64 = pa.Field(nullable=True)
    false_negative_rate: pl.Float64 = pa.Field(nullable=True)
    false_negative_low: pl.Float64 = pa.Field(nullable=True)
    false_negative_high: pl.Float64 = pa.Field(nullable=True)


class AttributeAgreement(Resampled):
    """One row per benchmark × rater × criterion × attribute: share of the win of the model that has more (or less) of it.

    CHIRP's Tables 2 and 16; `n_left_out` comparisons are of models equal in it, of `n_ties` each model gets half. Distance
    correlation (Table 17) is that of the attribute with Elo ratings of the `n_models`, `p_value` that of `bias_corrected`.
    """

    rater: str
    criterion: str
    attribute: str
    prefers: str = pa.Field(isin=("more", "less"))
    n: pl.Int64
    n_left_out: pl.Int64
    n_ties: pl.Int64
    n_clusters: pl.Int64
    agreement: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    n_models: pl.Int64
    distance_correlation: pl.Float64 = pa.Field(nullable=True)
    bias_corrected: pl.Float64 = pa.Field(nullable=True)
    p_value: pl.Float64 = pa.Field(nullable=True)
