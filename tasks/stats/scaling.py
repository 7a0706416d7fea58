"""What CHIRP reads from a suite of models: agreement with size and training loss.
Superscores and scaled averages are SQL.
"""

from typing import NamedTuple

import numpy as np

from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.comparisons import Comparisons
from judgelake.tasks.stats.estimates import Estimate, estimate_mean


class AttributeAgreement(NamedTuple):
    """How often the model with more (or less) of something is preferred; the rows left out: equal
    or unknown in it; the ties.
    """

    agreement: Estimate
    n_left_out: int
    n_ties: int


def agree_with_attribute(
    comparisons: Comparisons, attribute: Floats, prefers_more: bool
) -> AttributeAgreement:
    """Share of the wins that go to the model with more of `attribute`, (models,), or with less of
    it; a tie is half.

    More parameters in CHIRP's Table 2, a lower training loss in Table 16. NaN is an unknown
    attribute.
    """
    gap = attribute[comparisons.model_b] - attribute[comparisons.model_a]
    is_b = gap > 0 if prefers_more else gap < 0
    is_known = ~np.isnan(gap) & (gap != 0)
    share = np.where(is_b, comparisons.preference_b, 1 - comparisons.preference_b)
    agreement = estimate_mean(np.where(is_known, share, np.nan), comparisons.clusters)
    n_ties = int(np.count_nonzero(comparisons.preference_b[is_known] == 0.5))
    return AttributeAgreement(agreement, int(np.count_nonzero(~is_known)), n_ties)


_NOTHING = 1e-20
"""Products of centred distances, the largest distance being 1, that sum to less are rounding."""


class DistanceCorrelation(NamedTuple):
    """`plain` as CHIRP reports it (Table 17); `bias_corrected`, on the scale of its square; p of
    the latter under permutation.

    `plain` lies in [0, 1] and is far above 0 for few rows even without association;
    `bias_corrected` is about 0 there, and may be below. NaN where a vector is constant;
    `bias_corrected` needs four rows, and more where they are equal but for one.
    """

    plain: float
    bias_corrected: float
    p_value: float
    n: int


def correlate_distances(
    x: Floats, y: Floats, permutations: int, rng: np.random.Generator
) -> DistanceCorrelation:
    """Distance correlation of the rows that have both values (NaN is missing); memory grows with
    rows squared.

    `plain` is R of Székely, Rizzo & Bakirov 2007 (Annals of Statistics 35, definition 4);
    `bias_corrected` is R* of Székely & Rizzo 2013 (Journal of Multivariate Analysis 117); p =
    (permutations with at least as much + 1) / (permutations + 1).
    """
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(
            f"correlate_distances: shapes {x.shape} and {y.shape}; expected two vectors of one "
            f"length; pair them"
        )
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
    """U-centred distances: row and column sums over n - 2, the whole over (n - 1)(n - 2), and
    nothing on the diagonal.
    """
    n = len(gaps)
    sums = gaps.sum(axis=0) / (n - 2)
    centred: Floats = gaps - sums - sums[:, None] + gaps.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(centred, 0)
    return centred


def overlap_rankings(ranking: Indices, other: Indices, persistence: float) -> float:
    """Overlap of two rankings, codes from best to worst without ties, in [0, 1]; they may differ in
    members and length.

    A reader goes on to the next rank with probability `persistence` (p). The extrapolated form of
    Webber, Moffat & Zobel 2010 (ACM TOIS 28, equation 32): what was seen of the agreement goes on
    beyond the end. NaN where a ranking is empty.
    """
    if not 0 < persistence < 1:
        raise ValueError(
            f"overlap_rankings: persistence is {persistence}; expected a number between 0 and "
            f"1; 0.9 is common"
        )
    if np.unique(ranking).size < ranking.size or np.unique(other).size < other.size:
        raise ValueError(
            "overlap_rankings: a code stands twice in a ranking; expected each model once; "
            "break ties first"
        )
    short, long = sorted((ranking, other), key=len)
    if short.size == 0:
        return float("nan")
    shared, s, n = _count_shared(short, long), short.size, long.size
    depth = np.arange(1, n + 1)
    weight = persistence**depth
    at_short = shared[s - 1]
    beyond = at_short * (depth[s:] - s) / (s * depth[s:])
    seen = (shared / depth) @ weight + beyond @ weight[s:]
    at_end = ((shared[-1] - at_short) / n + at_short / s) * weight[-1]
    return float((1 - persistence) / persistence * seen + at_end)


def _count_shared(short: Indices, long: Indices) -> Floats:
    """Members of both down to each depth of the longer ranking."""
    _, in_short, in_long = np.intersect1d(short, long, return_indices=True)
    met_at = np.maximum(in_short, in_long)
    return np.cumsum(np.bincount(met_at, minlength=long.size)).astype(np.float64)
