"""Pearson, Spearman, Kendall tau-b and tau-c of one sample, as plain numbers.

No intervals (`tasks.stats.bootstrap`) and no p-values. NaN where a coefficient is undefined;
ValueError where the input is wrong.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def check_pair(where: str, x: Floats, y: Floats) -> None:
    """Raise ValueError unless x and y are finite vectors of one length."""
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(
            f"{where}: x has shape {x.shape} and y {y.shape}; expected two vectors of one "
            f"length; pass paired rows"
        )
    for name, values in (("x", x), ("y", y)):
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise ValueError(
                f"{where}: {name}[{bad[0]}] is {values[bad[0]]}; expected finite numbers; drop "
                f"the rows without a score first"
            )


# Values that differ by less than this part of their size are equal: sums of the same ratings differ
# in the sixteenth digit, different means of 100 ratings on 1,000 levels in the eighth.
_SAME = 1e-12


def find_levels(values: Floats) -> tuple[Floats, Indices]:
    """The distinct values in rising order and each value's place among them, as `np.unique` finds
    them; values that differ by rounding alone are one, so that equal means are ties.
    """
    distinct, places = np.unique(values, return_inverse=True)
    is_new = np.ones(distinct.size, dtype=np.bool_)
    is_new[1:] = np.diff(distinct) > _SAME * np.abs(distinct[1:])
    return (
        (distinct, places) if is_new.all() else (distinct[is_new], (np.cumsum(is_new) - 1)[places])
    )


def pearson(x: Floats, y: Floats) -> float:
    """Product-moment correlation."""
    check_pair("pearson", x, y)
    return _product_moment(x, y) if _is_defined(x, y) else float("nan")


def spearman(x: Floats, y: Floats) -> float:
    """Pearson's coefficient of mid-ranks (Spearman 1904)."""
    check_pair("spearman", x, y)
    x, y = (find_levels(side)[1].astype(np.float64) for side in (x, y))
    return _product_moment(mid_ranks(x), mid_ranks(y)) if _is_defined(x, y) else float("nan")


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 1, equal values sharing the mean of theirs. That of scipy.stats is the same, but
    takes a second to import.
    """
    _, level, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[level]
    return ranks


def kendall_tau_b(x: Floats, y: Floats) -> float:
    """(C - D) / sqrt((pairs not tied in x) * (pairs not tied in y)); Kendall 1945, Biometrika
    33.
    """
    check_pair("kendall_tau_b", x, y)
    return _kendall(x, y, "b")


def kendall_tau_c(x: Floats, y: Floats) -> float:
    """2 (C - D) / (n^2 (m - 1) / m), m the smaller count of distinct values; Stuart 1953,
    Biometrika 40.
    """
    check_pair("kendall_tau_c", x, y)
    return _kendall(x, y, "c")


COEFFICIENTS: dict[str, Callable[[Floats, Floats], float]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall_tau_b": kendall_tau_b,
    "kendall_tau_c": kendall_tau_c,
}


def _is_defined(x: Floats, y: Floats) -> bool:
    return x.size >= 2 and bool((x != x[0]).any() and (y != y[0]).any())


def _product_moment(x: Floats, y: Floats) -> float:
    x_unit, y_unit = _centre(x), _centre(y)
    return min(max(float((x_unit * y_unit).sum()), -1.0), 1.0)


def _centre(values: Floats) -> Floats:
    # Scaled before it is squared: scores of 1e200 or 1e-200 neither overflow nor vanish.
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    unit: Floats = centred / np.sqrt((centred * centred).sum())
    return unit


def _kendall(x: Floats, y: Floats, variant: Literal["b", "c"]) -> float:
    from scipy.stats import kendalltau  # takes a second to import

    x, y = (find_levels(side)[1].astype(np.float64) for side in (x, y))
    return float(kendalltau(x, y, variant=variant).statistic) if _is_defined(x, y) else float("nan")
