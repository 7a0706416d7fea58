"""Tables that a report writes back into the lake, for SQL to read again."""

import pandera.polars as pa
import polars as pl

from schemas.inputs import Instant
from schemas.judging import Strict

COEFFICIENTS = ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c")


class Correlations(Strict):
    """One row per benchmark × model ('*' all pooled) × judge × criteria × rules × coefficient, with its bootstrap interval."""

    suite: str
    benchmark: str
    model: str
    judge: str
    judge_criterion: str
    human_criterion: str
    human_rule: str
    sample_rule: str
    against: str
    coefficient: str = pa.Field(isin=COEFFICIENTS)
    n: pl.Int64
    n_clusters: pl.Int64
    value: pl.Float64 = pa.Field(nullable=True)
    low: pl.Float64 = pa.Field(nullable=True)
    high: pl.Float64 = pa.Field(nullable=True)
    n_undefined: pl.Int64
    resamples: pl.Int64
    seed: pl.Int64
    reported_at: Instant
