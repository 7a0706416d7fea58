"""A second implementation of intervals over clusters: bias-reduced variances (CR2) and
Satterthwaite's degrees of freedom with whole matrices, as Pustejovsky & Tipton 2018 (Journal of
Business & Economic Statistics 36, equations 8-12) write them.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

Numbers = Sequence[float] | np.ndarray
Codes = Sequence[object] | np.ndarray


class Fit(NamedTuple):
    """A mean or a slope, its variance and the variance's degrees of freedom."""

    value: float
    variance: float
    degrees: float


def fit_mean(values: Numbers, clusters: Codes) -> Fit:
    """The mean of rows in clusters."""
    return fit_slope(values, np.ones(len(values)), clusters)


def fit_share(values: Numbers, clusters: Codes) -> Fit:
    """The mean of rows from 0 to 1. Its degrees of freedom are those of the clusters that hold the
    rarer side's rows where these are few: of squares of normal numbers, three times Kish's number
    is how many they are.
    """
    found = fit_mean(values, clusters)
    rarer = np.asarray(values) if found.value <= 0.5 else 1 - np.asarray(values)
    names = np.array([str(cluster) for cluster in clusters])
    squares = np.array([rarer[names == name].sum() ** 2 for name in set(names)])
    kish = squares.sum() ** 2 / (squares**2).sum() if squares.any() else math.inf
    return found._replace(degrees=min(found.degrees, 3 * kish))


def fit_slope(
    y: Numbers,
    x: Numbers,
    clusters: Codes,
) -> Fit:
    """y = b x, rows in clusters; both centred beforehand where there is an intercept."""
    y, x = np.asarray(y, dtype=float), np.asarray(x, dtype=float)[:, None]
    codes = np.unique([str(cluster) for cluster in clusters], return_inverse=True)[1]
    bread = 1 / (x.T @ x).item()
    residual_maker = np.eye(y.size) - bread * x @ x.T
    b = bread * (x[:, 0] @ y)
    rows = []
    for code in range(codes.max() + 1):
        own = codes == code
        values, vectors = np.linalg.eigh(residual_maker[np.ix_(own, own)])
        root = np.where(values > 1e-9, np.maximum(values, 1e-9) ** -0.5, 0.0)
        adjust = vectors * root @ vectors.T
        rows.append(bread * x[own, 0] @ adjust @ residual_maker[own])
    stacked = np.array(rows)  # what each cluster makes of all rows' errors
    variance = float(((stacked @ y) ** 2).sum())
    of_errors = stacked @ stacked.T
    return Fit(b, variance, float(np.trace(of_errors) ** 2 / (of_errors**2).sum()))


def plain_ends(fit: Fit, least: float = -math.inf, most: float = math.inf) -> tuple[float, float]:
    """Student's interval, cut."""
    reach = stats.t.ppf(0.975, fit.degrees) * math.sqrt(fit.variance)
    return max(fit.value - reach, least), min(fit.value + reach, most)


def left_out_ends(
    value: float, others: Sequence[float], sizes: Sequence[int]
) -> tuple[float, float]:
    """Jackknife of a coefficient in Fisher's z: its values without each cluster in turn."""
    parts = np.asarray(sizes) / sum(sizes)
    effective = 1 / float((parts**2).sum())
    steps = np.arctanh(np.asarray(others)) - math.atanh(value)
    variance = float(((1 - parts) * steps**2).sum())
    low, high = plain_ends(Fit(math.atanh(value), variance, effective - 1))
    return math.tanh(low), math.tanh(high)


def signed_ends(values: Numbers, clusters: Codes) -> tuple[float, float]:
    """Of differences from -1 to 1: Student's interval, or where that is wider what the intervals of
    their parts above and below 0, as shares, give for the difference of the two (Zou & Donner 2008,
    Statistics in Medicine 27, equation 3, of independent estimates).
    """
    low, high = plain_ends(fit_mean(values, clusters))
    mean = float(np.mean(values))
    sides = [np.maximum(sign * np.asarray(values, dtype=float), 0) for sign in (1, -1)]
    (up, up_low, up_high), (down, down_low, down_high) = (
        (float(side.mean()), *share_ends(side, clusters)) for side in sides
    )
    low = min(low, mean - math.hypot(up - up_low, down_high - down))
    high = max(high, mean + math.hypot(up_high - up, down - down_low))
    return max(low, -1), min(high, 1)


def share_ends(values: Numbers, clusters: Codes) -> tuple[float, float]:
    """Of a share: Student's on the scale of log odds, at 0 and 1 Clopper & Pearson's."""
    fit = fit_share(values, clusters)
    if 1e-12 < fit.value < 1 - 1e-12:
        return odds_ends(fit)
    sizes = np.unique([str(cluster) for cluster in clusters], return_counts=True)[1]
    missed = 1 - 0.025 ** ((sizes**2).sum() / sizes.sum() ** 2)
    return (0, missed) if fit.value < 0.5 else (1 - missed, 1)


def odds_ends(fit: Fit) -> tuple[float, float]:
    """Student's interval on the scale of log odds."""
    spread = fit.value * (1 - fit.value)
    middle, scaled = math.log(fit.value / (1 - fit.value)), fit.variance / spread**2
    low, high = plain_ends(Fit(middle, scaled, fit.degrees))
    return 1 / (1 + math.exp(-low)), 1 / (1 + math.exp(-high))
