"""How far missing verdicts could move a correlation: no score that could have been given leads
beyond the ends.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.bootstrap import correlate_rows
from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.correlation import mid_ranks, pearson

Flags = NDArray[np.bool_]

# a smaller spread is rounding error
_SPREADLESS = 1e-12
# means are rounded, so that equal ones are ties whatever the order of their sum
_DIGITS = 12


class MissingBounds(NamedTuple):
    """No filling-in goes beyond the ends (up to the optimiser's digits); where `is_exact`, some
    reach them.
    """

    low: float
    high: float
    n_missing: int
    is_exact: bool


def bound_missing(x: Floats, y: Floats, scale: tuple[float, float]) -> dict[str, MissingBounds]:
    """Bounds of `x` with `y` over all rows that have a target, were the missing scores (NaN in x)
    anywhere on the `scale`.

    Worst-case bounds (Manski 1990, American Economic Review 80): they cover a judge's unparsed,
    refused and failed verdicts, and nothing of sampling. Pearson's are exact where any number of
    the scale may be a score, and hold on a scale of levels. Those of the rank coefficients hold,
    and may be wider than what scores can reach: each pair with a missing score counts as if it
    could be ordered by itself, each rank as if it could be chosen by itself.
    """
    scored = x[~np.isnan(x)]
    least, largest = (float(scored.min()), float(scored.max())) if scored.size else scale
    if not scale[0] < scale[1] or least < scale[0] or largest > scale[1]:
        raise ValueError(
            f"bound_missing: the scale is {scale} and scores go from {least} to {largest}; "
            f"expected scores on the scale; "
            "pass the judge's own ends"
        )
    has_target = ~np.isnan(y)
    unit, target = (x[has_target] - scale[0]) / (scale[1] - scale[0]), y[has_target]
    is_missing = np.isnan(unit)
    n_missing = int(is_missing.sum())
    if (
        n_missing == 0 or (target == target[0]).all()
    ):  # nothing to fill in, or nothing that a score could change
        whole = correlate_rows(np.nan_to_num(unit), target)
        return {name: MissingBounds(value, value, n_missing, True) for name, value in whole.items()}
    ends = np.where(is_missing, 0.0, unit), np.where(is_missing, 1.0, unit)
    filled = [pearson(_fill_towards(*ends, side), target) for side in (target, -target)]
    products = np.append(filled, _correlate_corners(unit, target, is_missing))
    known, n = unit[~is_missing], unit.size
    ranks = np.zeros(n)
    ranks[~is_missing] = mid_ranks(known) if known.size else 0.0
    first, last = np.where(is_missing, 1.0, ranks), np.where(is_missing, n, ranks + n_missing)
    signs = _count_signs(known, target[~is_missing], target)
    return {
        "pearson": _bound(products, n_missing, True),
        "spearman": _bound_ranks(first, last, target, n_missing),
        **_bound_kendall(signs, n_missing, np.unique(known).size),
    }


def bound_systems(
    x: Floats, y: Floats, systems: Indices, scale: tuple[float, float]
) -> dict[str, MissingBounds]:
    """Bounds of the system level, the models' mean scores with their mean targets, were the missing
    scores anywhere on the `scale`.

    A model's mean then lies between those with all its missing scores at one end and at the other.
    The bounds hold, as those of `bound_missing` do; Pearson's are reached where they lie on the far
    side of 0.
    """
    held, codes = np.unique(systems, return_inverse=True)
    counts = np.bincount(codes)
    low, high, target = (
        np.bincount(codes, side) / counts
        for side in (*(np.where(np.isnan(x), end, x) for end in scale), y)
    )
    low, high, target = (
        np.round(means, _DIGITS) for means in (low, high, target)
    )  # equal means are a tie
    n, n_missing = held.size, int(np.isnan(x).sum())
    is_same = (low[:, None] == high) & (high[:, None] == low)
    ties = (is_same.sum(axis=1) - 1) / 2
    first = 1 + (high < low[:, None]).sum(axis=1) + ties
    last = n - (low > high[:, None]).sum(axis=1) - ties
    order = np.sign(target[:, None] - target)
    above = (low[:, None] > high).astype(np.int64) - (high[:, None] < low)
    is_open = (above == 0) & ~is_same
    signs = _Signs(
        n,
        float((above * order).sum()),
        float(np.abs(above).sum()),
        float((is_open & (order != 0)).sum()),
        float((is_open & (order == 0)).sum()),
        float(np.abs(order).sum()),
        np.unique(target).size,
    )
    n_known = np.unique(low[low == high]).size
    middle = float((low + high).mean()) / 2
    widest = np.maximum(np.abs(low - middle), np.abs(high - middle))
    return {
        "pearson": _bound_products(low, high, target, float((widest**2).mean()), n_missing),
        "spearman": _bound_ranks(first, last, target, n_missing),
        **_bound_kendall(signs, int((low < high).sum()), n_known, n_missing),
    }


class _Signs(NamedTuple):
    """Pairs of n rows, each counted in both orders: the sum of the products of signs of those whose
    order by x is known, how many of them differ in x, how many others differ in y and do not, how
    many of all differ in y, and the levels of y.
    """

    n: int
    excess: float
    untied: float
    open: float
    open_ties: float
    y_untied: float
    y_levels: int


def _count_signs(known: Floats, known_y: Floats, y: Floats) -> _Signs:
    """Of rows whose x is known, and the y of all."""
    untied, known_untied, y_untied = (_count_untied(side) for side in (known, known_y, y))
    tau = correlate_rows(known, known_y)["kendall_tau_b"]
    excess = (
        0.0 if np.isnan(tau) else float(np.round(tau * np.sqrt(untied) * np.sqrt(known_untied)))
    )
    n_open = y.size**2 - y.size - known.size**2 + known.size
    is_open = y_untied - known_untied
    levels = np.unique(y).size
    return _Signs(y.size, excess, untied, is_open, n_open - is_open, y_untied, levels)


def _count_untied(values: Floats) -> float:
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float(values.size**2 - (counts**2).sum())


def _bound_kendall(
    signs: _Signs, n_open: int, n_known: int, n_missing: int | None = None
) -> dict[str, MissingBounds]:
    """Bounds of tau-b and tau-c: at the ends all open pairs count for, or against.

    `n_open` values of x are not known, the others have `n_known` levels.
    """
    fewest = max(min(n_known, signs.y_levels), 2)
    most = max(min(n_known + n_open, signs.y_levels), 2)
    ends: dict[str, list[float]] = {"kendall_tau_b": [], "kendall_tau_c": []}
    for side in (-1, 1):
        excess = side * signs.excess + signs.open
        # An excess that stays below 0 is least where most pairs are counted.
        pairs = signs.untied + signs.open + (signs.open_ties if excess < 0 else 0.0)
        size = np.sqrt(pairs) * np.sqrt(signs.y_untied)
        levels = fewest if excess >= 0 else most
        stuart = excess / signs.n**2 * levels / (levels - 1)
        ends["kendall_tau_b"].append(side * min(excess / size, 1.0) if size > 0 else np.nan)
        ends["kendall_tau_c"].append(side * min(stuart, 1.0) if size > 0 else np.nan)
    missing = n_open if n_missing is None else n_missing
    return {name: _bound(np.array(values), missing, False) for name, values in ends.items()}


def _bound_ranks(first: Floats, last: Floats, y: Floats, n_missing: int) -> MissingBounds:
    """Bounds of Spearman's coefficient, each mid-rank being somewhere from `first` to `last`."""
    # Ranks without a tie vary most.
    return _bound_products(first, last, mid_ranks(y), (y.size**2 - 1) / 12, n_missing)


def _bound_products(
    low: Floats, high: Floats, y: Floats, variance: float, n_missing: int
) -> MissingBounds:
    """Bounds of Pearson's coefficient of scores each from its `low` to its `high`, of at most this
    variance.
    """
    ends = []
    for side in (-1.0, 1.0):
        target = side * (y - y.mean())
        covariance = float(np.maximum(low * target, high * target).mean())
        if covariance > 0:
            correlation = pearson(_fill_towards(low, high, target), target)
            highest = 1.0 if np.isnan(correlation) else correlation
        else:
            size = float(target.std()) * np.sqrt(variance)
            highest = covariance / size if size > 0 else np.nan
        ends.append(side * highest)
    return _bound(np.array(ends), n_missing, False)


def _bound(values: Floats, n_missing: int, is_exact: bool) -> MissingBounds:
    defined = values[~np.isnan(values)]
    if not defined.size:
        return MissingBounds(float("nan"), float("nan"), n_missing, is_exact)
    return MissingBounds(float(defined.min()), float(defined.max()), n_missing, is_exact)


def _fill_towards(low: Floats, high: Floats, y: Floats) -> Floats:
    """The scores, each from its `low` to its `high`, with which Pearson's coefficient is highest,
    provided that it can be above 0.

    1 - r^2 is the least of sum (y - a - b x)^2 / sum (y - mean)^2. With u = b x the sum is convex
    in a, b >= 0 and u in [b low, b high], and the best u is y - a cut to that interval: two numbers
    are left to find.
    """
    tiny = np.finfo(np.float64).tiny
    target = (y - y.mean()) / max(float(y.std()), tiny)
    middle = (low + high) / 2  # near 0 and near 1 the optimiser needs few steps
    shift, size = float(middle.mean()), max(float(middle.std()), float((high - low).max()), tiny)
    least, largest = (low - shift) / size, (high - shift) / size

    def sum_squares(line: Floats) -> tuple[float, Floats]:
        a, b = line
        over = target - a - np.clip(target - a, b * least, b * largest)
        slope = np.where(over > 0, largest, least)
        return float((over * over).sum()), -2.0 * np.array((over.sum(), (over * slope).sum()))

    bounds: list[tuple[float | None, float | None]] = [(None, None), (0.0, None)]
    start = np.array([0.0, 1.0])
    from scipy.optimize import minimize  # rarely needed, and slow to import

    optimum = minimize(
        sum_squares,
        start,
        jac=True,
        method="TNC",  # L-BFGS-B wakes BLAS's threads for sums of two numbers
        bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-12, "xtol": 1e-12, "maxfun": 1000},
    )
    a, b = optimum.x
    filled: Floats = (
        np.clip((target - a) / b * size + shift, low, high)
        if b > 0
        else np.where(target > a, high, low)
    )
    return filled


def _correlate_corners(x: Floats, y: Floats, is_missing: Flags) -> Floats:
    """Pearson's coefficient with the k missing rows of highest or of lowest target at 1 and the
    others at 0, for every k.

    Where no filling-in gives a coefficient above 0, the highest is one of these (and the lowest,
    where none is below): r is then quasi-convex, and of fillings-in with k scores at 1 all have the
    same spread.
    """
    unit = (y - y.mean()) / max(float(y.std()), np.finfo(np.float64).tiny)
    known = x[~is_missing]
    ordered = np.sort(unit[is_missing])
    k = np.arange(ordered.size + 1)
    gained = np.stack([np.append(0.0, np.cumsum(side)) for side in (ordered, ordered[::-1])])
    squares = (known**2).sum() + k - (known.sum() + k) ** 2 / x.size
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # not `@`, which would wake threads for one sum
        r = ((known * unit[~is_missing]).sum() + gained) / np.sqrt(squares * x.size)
    return np.where(squares > _SPREADLESS * x.size, r, np.nan).ravel()
