"""How far raters put models in the same order, from their rankings. The statistic is `tasks.stats.rank_overlap`."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import polars as pl

from schemas.tables import TABLES
from tasks.reports.resampled import Row
from tasks.stats.rank_overlap import overlap_rankings

PERSISTENCE = 0.9
"""Webber, Moffat & Zobel 2010 take it for their examples: the first ten places hold 86 % of the weight."""
_KEY = ("suite", "benchmark", "criterion", "category", "method")


def overlap_raters(rankings: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table `ranking_overlaps`, from those of `rankings`."""
    stamp: Row = {"persistence": PERSISTENCE, "reported_at": datetime.now(UTC)}
    placed = rankings.filter(pl.col("rank").is_not_null()).sort("rank", "model")
    rows = [
        {**dict(zip(_KEY, key, strict=True)), **stamp, **row}
        for key, group in placed.group_by(_KEY, maintain_order=True)
        for row in _compare_orders(group)
    ]
    return pl.DataFrame(rows, schema=TABLES["ranking_overlaps"].polars_schema)


def _compare_orders(group: pl.DataFrame) -> Iterator[Row]:
    codes = np.unique(group["model"].to_numpy().astype(str), return_inverse=True)[1]
    raters = group["rater"].to_numpy().astype(str)
    orders = {str(rater): codes[raters == rater] for rater in np.unique(raters)}
    for a, b in itertools.combinations(orders, 2):
        yield {
            "rater_a": a, "rater_b": b, "n_models_a": orders[a].size, "n_models_b": orders[b].size,
            "n_common": np.intersect1d(orders[a], orders[b]).size, "overlap": overlap_rankings(orders[a], orders[b], PERSISTENCE),
        }  # fmt: skip
