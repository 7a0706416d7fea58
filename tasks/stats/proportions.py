"""Intervals for a share counted on a sample, such as questions whose ground truth is wrong (CHIRP, section 5.2.3)."""

from typing import NamedTuple

import numpy as np
from scipy import stats


class Proportion(NamedTuple):
    """A share and the ends of its interval."""

    share: float
    low: float
    high: float


def normal_interval(n_yes: int, n: int, level: float = 0.95) -> Proportion:
    """p +- z sqrt(p (1 - p) / n), as CHIRP reports it, cut at 0 and 1; too narrow near them. NaN without a sample."""
    z = _check_sample("normal_interval", n_yes, n, level)
    if n == 0:
        return Proportion(float("nan"), float("nan"), float("nan"))
    share = n_yes / n
    half = z * np.sqrt(share * (1 - share) / n)
    return Proportion(share, max(share - half, 0.0), min(share + half, 1.0))


def wilson_interval(n_yes: int, n: int, level: float = 0.95) -> Proportion:
    """The shares that a score test does not refute (Wilson 1927, JASA 22); right for few and for rare ones. NaN without a sample."""
    z = _check_sample("wilson_interval", n_yes, n, level)
    if n == 0:
        return Proportion(float("nan"), float("nan"), float("nan"))
    share = n_yes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # Rounding must not leave the ends of the line open.
    low = 0.0 if n_yes == 0 else float(centre - half)
    return Proportion(share, low, 1.0 if n_yes == n else float(centre + half))


def _check_sample(where: str, n_yes: int, n: int, level: float) -> float:
    """The normal quantile of the level."""
    if not 0 <= n_yes <= n or not 0 < level < 1:
        raise ValueError(f"{where}: {n_yes} of {n} at level {level}; expected 0 <= count <= sample and a level between 0 and 1")
    return float(stats.norm.ppf((1 + level) / 2))
