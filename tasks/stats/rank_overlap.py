"""Rank-biased overlap of two rankings of models: the top counts most."""

import numpy as np

from tasks.stats.cluster_sums import Floats, Indices


def overlap_rankings(one: Indices, other: Indices, persistence: float) -> float:
    """Overlap of two rankings, codes from best to worst without ties, in [0, 1]; they may differ in members and length.

    A reader goes on to the next rank with probability `persistence` (p). The extrapolated form of Webber, Moffat & Zobel 2010
    (ACM TOIS 28, equation 32): what was seen of the agreement goes on beyond the end. NaN where a ranking is empty.
    """
    if not 0 < persistence < 1:
        raise ValueError(f"overlap_rankings: persistence is {persistence}; expected a number between 0 and 1; 0.9 is common")
    if np.unique(one).size < one.size or np.unique(other).size < other.size:
        raise ValueError("overlap_rankings: a code stands twice in a ranking; expected each model once; break ties first")
    short, long = sorted((one, other), key=len)
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
