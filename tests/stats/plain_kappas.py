"""Agreement and kappas of one sample, as the statistics of cells give them where every row counts
once.
"""

import numpy as np

from judgelake.tasks.stats.agreement import (
    LabelPairs,
    Weighting,
    agree_cells,
    fold_labels,
    kappa_of_cells,
)
from judgelake.tasks.stats.cluster_sums import Floats, Indices


def observed_agreement(a: Floats, b: Floats) -> float:
    pairs = fold_labels(a, b)
    return float(agree_cells(pairs, count_rows(pairs))[0])


def cohen_kappa(a: Floats, b: Floats, weighting: Weighting = "nominal") -> float:
    pairs = fold_labels(a, b)
    return float(kappa_of_cells(pairs, count_rows(pairs), weighting)[0])


def matchup_kappa(a: Floats, b: Floats, matchups: Indices) -> float:
    pairs = fold_labels(a, b, matchups)
    return float(kappa_of_cells(pairs, count_rows(pairs), "nominal")[0])


def count_rows(pairs: LabelPairs) -> Floats:
    """Rows in each cell as one column: (cells, 1)."""
    return np.bincount(pairs.cell, minlength=pairs.n_cells).astype(np.float64)[:, None]
