"""How often raters prefer the larger model, or that of the lower training loss (CHIRP, Tables 2, 16, 17). The statistics are `tasks.stats`."""

from collections.abc import Iterator

import duckdb
import numpy as np
import polars as pl

from tasks.reports.rankings import ELO, PERMUTATIONS
from tasks.reports.resampled import Resamples, Row, build_rows, group_rows, write_ends
from tasks.stats.comparisons import select_comparisons
from tasks.stats.distance_correlation import correlate_distances
from tasks.stats.elo import permute_elo
from tasks.stats.scaling import agree_with_attribute
from tasks.suite import Suite

_LESS_IS_BETTER = "training_loss"


def compare_with_attributes(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `attribute_agreement`."""
    return build_rows(connection, suite, "attribute_agreement", ("queries/attribute_comparisons.sql", {}), _compare_benchmark)


def _compare_benchmark(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    for key, rows in group_rows(frame, ("rater", "criterion", "attribute")):
        names, codes = np.unique(np.concatenate([rows["model_a"], rows["model_b"]]).astype(str), return_inverse=True)
        attribute = np.empty(names.size)
        attribute[codes] = np.concatenate([rows["a"], rows["b"]])
        preference = rows["preference_b"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        a, b = codes[: rows.height], codes[rows.height :]
        found = select_comparisons(a, b, preference, rows["cluster_code"].to_numpy(), names.size)
        if not found.preference_b.size:
            continue
        prefers_more = key["attribute"] != _LESS_IS_BETTER
        agreed = agree_with_attribute(found, attribute, prefers_more, resamples.weights)
        rng = resamples.seed_rng(*key.values())
        ratings = permute_elo(found, ELO, PERMUTATIONS, rng).band.mean
        distance = correlate_distances(ratings, attribute, len(resamples.weights), rng)
        yield {
            **key, "prefers": "more" if prefers_more else "less", "n": agreed.agreement.n, "n_left_out": agreed.n_left_out,
            "n_ties": agreed.n_ties, "n_clusters": agreed.agreement.n_clusters, **write_ends(agreed.agreement, "agreement"),
            "n_undefined": agreed.agreement.n_undefined, "n_models": distance.n, "distance_correlation": distance.plain,
            "bias_corrected": distance.bias_corrected, "p_value": distance.p_value,
        }  # fmt: skip
