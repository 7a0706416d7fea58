"""Distance correlation of two vectors, ratings against training loss for instance: any association, not only linear ones."""

from typing import NamedTuple

import numpy as np

from tasks.stats.cluster_sums import Floats

_NOTHING = 1e-20
"""Products of centred distances, the largest distance being 1, that sum to less are rounding."""


class DistanceCorrelation(NamedTuple):
    """`plain` as CHIRP reports it (Table 17); `bias_corrected`, on the scale of its square; p of the latter under permutation.

    `plain` lies in [0, 1] and is far above 0 for few rows even without association; `bias_corrected` is about 0 there, and may
    be below. NaN where a vector is constant; `bias_corrected` needs four rows, and more where they are equal but for one.
    """

    plain: float
    bias_corrected: float
    p_value: float
    n: int


def correlate_distances(x: Floats, y: Floats, permutations: int, rng: np.random.Generator) -> DistanceCorrelation:
    """Distance correlation of the rows that have both values (NaN is missing); memory grows with rows squared.

    `plain` is R of Székely, Rizzo & Bakirov 2007 (Annals of Statistics 35, definition 4); `bias_corrected` is R* of Székely &
    Rizzo 2013 (Journal of Multivariate Analysis 117); p = (permutations with at least as much + 1) / (permutations + 1).
    """
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"correlate_distances: shapes {x.shape} and {y.shape}; expected two vectors of one length; pair them")
    is_there = np.isfinite(x) & np.isfinite(y)
    x_gaps, y_gaps = (_measure_gaps(values[is_there]) for values in (x, y))
    n = len(x_gaps)
    if n < 2 or not x_gaps.any() or not y_gaps.any():
        return DistanceCorrelation(float("nan"), float("nan"), float("nan"), n)
    plain = np.sqrt(max(_cosine(_centre(x_gaps), _centre(y_gaps)), 0.0))
    if n < 4:
        return DistanceCorrelation(float(plain), float("nan"), float("nan"), n)
    x_centred, y_centred = _centre_unbiased(x_gaps), _centre_unbiased(y_gaps)
    corrected = _cosine(x_centred, y_centred)
    if np.isnan(corrected):
        return DistanceCorrelation(float(plain), corrected, corrected, n)
    drawn = np.array([_cosine(x_centred, _permute(y_centred, rng)) for _ in range(permutations)])
    # Orders that give the same sum in another order of addition are as extreme, too.
    as_extreme = int(np.count_nonzero(drawn >= corrected - 1e-12))
    return DistanceCorrelation(float(plain), corrected, (as_extreme + 1) / (permutations + 1), n)


def _measure_gaps(values: Floats) -> Floats:
    """Distances between values, the largest of them 1; 0 where there is none."""
    gaps = np.abs(values[:, None] - values)
    scaled: Floats = gaps / max(gaps.max(initial=0.0), np.finfo(np.float64).tiny)
    return scaled


def _permute(gaps: Floats, rng: np.random.Generator) -> Floats:
    order = rng.permutation(len(gaps))
    return gaps[order[:, None], order]


def _cosine(x: Floats, y: Floats) -> float:
    size = np.sqrt((x * x).sum() * (y * y).sum())
    return float((x * y).sum() / size) if size > _NOTHING else float("nan")


def _centre(gaps: Floats) -> Floats:
    """Distances less the means of their row and column, plus that of all."""
    means = gaps.mean(axis=0)
    centred: Floats = gaps - means - means[:, None] + means.mean()
    return centred


def _centre_unbiased(gaps: Floats) -> Floats:
    """U-centred distances: row and column sums over n - 2, the whole over (n - 1)(n - 2), and nothing on the diagonal."""
    n = len(gaps)
    sums = gaps.sum(axis=0) / (n - 2)
    centred: Floats = gaps - sums - sums[:, None] + gaps.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(centred, 0)
    return centred
