"""The four coefficients from sums over the rows of a resample; equal to those of its explicitly repeated rows.

Where the sums come from is the matter of `tasks.stats.correlation_kernel`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.stats.cluster_sums import Floats
from tasks.stats.ordered_rows import recentre

_WORST_CONDITION = 100.0


class Moments(NamedTuple):
    """Sums of the centred and scaled values; each of shape (resamples,)."""

    x: Floats
    y: Floats
    xx: Floats
    yy: Floats
    xy: Floats


class Sums(NamedTuple):
    """What the coefficients need to know of resamples; each of shape (resamples,). Sums of counts are exact below 2^53.

    `x_squares` sums the squares of the counts of equal x (ordered pairs tied in x, a row with itself included), and so on;
    `rank_product` sums over rows the products of twice their mid-ranks, less the mean.
    """

    n: Floats
    x_squares: Floats
    y_squares: Floats
    cell_squares: Floats
    x_cubes: Floats
    y_cubes: Floats
    fewest_levels: Floats
    concordant: Floats
    rank_product: Floats
    moments: Moments

    @property
    def is_defined(self) -> NDArray[np.bool_]:
        """Where neither side is constant, which takes two rows."""
        defined: NDArray[np.bool_] = (self.x_squares < self.n**2) & (self.y_squares < self.n**2)
        return defined

    @property
    def has_digits(self) -> NDArray[np.bool_]:
        """Where `moments` are sound: not where a resample's mean lies far from the sample's (an outlier was not drawn)."""
        x, y, xx, yy, _ = self.moments
        with np.errstate(divide="ignore", invalid="ignore"):
            spread_x, spread_y = xx - x**2 / self.n, yy - y**2 / self.n
        sound: NDArray[np.bool_] = (xx < _WORST_CONDITION * spread_x) & (yy < _WORST_CONDITION * spread_y)
        return sound


def correlate_sums(sums: Sums) -> dict[str, Floats]:
    """Each coefficient on each resample, NaN where undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "pearson": _pearson(sums),
            "spearman": _spearman(sums),
            "kendall_tau_b": _tau_b(sums),
            "kendall_tau_c": _tau_c(sums),
        }
    return {name: np.where(sums.is_defined, np.clip(values, -1.0, 1.0), np.nan) for name, values in found.items()}


def pearson_of_counts(x: Floats, y: Floats, counts: Floats) -> float:
    """Pearson's coefficient of rows that count so often, centred on its own means."""
    drawn = counts > 0
    weight = counts[drawn]
    x_unit, y_unit = recentre(x[drawn], weight), recentre(y[drawn], weight)
    r = weight @ (x_unit * y_unit) / np.sqrt(weight @ x_unit**2) / np.sqrt(weight @ y_unit**2)
    return float(np.clip(r, -1.0, 1.0))


def _pearson(sums: Sums) -> Floats:
    n, (x, y, xx, yy, xy) = sums.n, sums.moments
    r: Floats = (xy - x * y / n) / np.sqrt(xx - x**2 / n) / np.sqrt(yy - y**2 / n)
    return r


def _spearman(sums: Sums) -> Floats:
    # The variance of mid-ranks needs the tie sizes only: sum n_g (r_g - mean)^2 = (n^3 - sum n_g^3) / 12.
    rho: Floats = 3 * sums.rank_product / np.sqrt(sums.n**3 - sums.x_cubes) / np.sqrt(sums.n**3 - sums.y_cubes)
    return rho


def _concordant_minus_discordant(sums: Sums) -> Floats:
    # Pairs tied on neither side by inclusion and exclusion, each counted twice; a row's pair with itself cancels.
    untied = sums.n**2 - sums.x_squares - sums.y_squares + sums.cell_squares
    excess: Floats = 2 * sums.concordant - untied / 2
    return excess


def _tau_b(sums: Sums) -> Floats:
    pairs = sums.n**2
    tau: Floats = 2 * _concordant_minus_discordant(sums) / np.sqrt(pairs - sums.x_squares) / np.sqrt(pairs - sums.y_squares)
    return tau


def _tau_c(sums: Sums) -> Floats:
    tau: Floats = 2 * _concordant_minus_discordant(sums) / sums.n**2 * sums.fewest_levels / (sums.fewest_levels - 1)
    return tau
