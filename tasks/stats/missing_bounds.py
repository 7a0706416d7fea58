"""How far missing verdicts could move a correlation: the least and the largest value over scores
that could have been given.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from judgelake.tasks.stats.bootstrap import bootstrap_correlations, correlate_rows
from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.correlation import COEFFICIENTS

Flags = NDArray[np.bool_]

# of many cuts of the target so many, evenly spread, are tried
_MOST_CUTS = 129
# a smaller spread is rounding error
_SPREADLESS = 1e-12
# means are rounded, so that equal ones are ties whatever the order of their sum
_DIGITS = 12


class MissingBounds(NamedTuple):
    """Both ends are reached by some filling-in; where `is_exact`, none goes beyond them (up to the
    optimiser's digits).
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
    the scale may be a score, and hold on a scale of levels. Those of the rank coefficients are by
    construction, not exact: the extremes over fillings-in at the scale's ends, high above a cut of
    the target and low below it or the other way round, for every cut (129 of them where there are
    more), and those of Pearson's.
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
    extremes = _correlate_cuts(unit, target, is_missing)
    ends = np.where(is_missing, 0.0, unit), np.where(is_missing, 1.0, unit)
    for filled in (_fill_towards(*ends, target), _fill_towards(*ends, -target)):
        for name, value in correlate_rows(filled, target).items():
            extremes[name] = np.append(extremes[name], value)
    extremes["pearson"] = np.append(
        extremes["pearson"], _correlate_corners(unit, target, is_missing)
    )
    return {name: _bound(values, n_missing, name == "pearson") for name, values in extremes.items()}


def bound_systems(
    x: Floats, y: Floats, systems: Indices, scale: tuple[float, float]
) -> dict[str, MissingBounds]:
    """Bounds of the system level, the models' mean scores with their mean targets, were the missing
    scores anywhere on the `scale`.

    A model's mean then lies between those with all its missing scores at one end and at the other.
    Ends are by construction, not exact: the extremes over models high above a cut of the target and
    low below it or the other way round, for every cut, over means that rise, or fall, with the
    target as far as they can, and over those of Pearson's.
    """
    held, codes = np.unique(systems, return_inverse=True)
    counts = np.bincount(codes)
    low, high, target = (
        np.bincount(codes, side) / counts
        for side in (*(np.where(np.isnan(x), end, x) for end in scale), y)
    )
    order = np.argsort(target, kind="stable")
    low, high, target = low[order], high[order], target[order]
    low, high, target = (
        np.round(means, _DIGITS) for means in (low, high, target)
    )  # equal means are a tie
    places = np.arange(held.size)
    fillings = [
        np.where((places >= cut) == upwards, high, low)
        for cut in range(held.size + 1)
        for upwards in (True, False)
    ]
    fillings += [
        np.minimum(np.maximum.accumulate(low), high),
        np.maximum(np.minimum.accumulate(high), low),
    ]
    fillings += [_fill_towards(low, high, target), _fill_towards(low, high, -target)]
    n_missing = int(np.isnan(x).sum())
    extremes = {
        name: np.array([measure(filled, target) for filled in fillings])
        for name, measure in COEFFICIENTS.items()
    }
    return {name: _bound(values, n_missing, False) for name, values in extremes.items()}


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
    target = (y - y.mean()) / max(float(y.std()), np.finfo(np.float64).tiny)

    def sum_squares(line: Floats) -> tuple[float, Floats]:
        a, b = line
        over = target - a - np.clip(target - a, b * low, b * high)
        slope = np.where(over > 0, high, low)
        return float((over * over).sum()), -2.0 * np.array((over.sum(), (over * slope).sum()))

    bounds: list[tuple[float | None, float | None]] = [(None, None), (0.0, None)]
    start = np.array([0.0, 1.0])
    optimum = optimize.minimize(
        sum_squares,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    a, b = optimum.x
    return np.clip((target - a) / b, low, high) if b > 0 else np.where(target > a, high, low)


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


def _correlate_cuts(x: Floats, y: Floats, is_missing: Flags) -> dict[str, Floats]:
    """Each coefficient for each filling-in at the ends: a missing row stands in the list twice,
    once at 0 and once at 1.
    """
    targets = y[is_missing]
    cuts = np.append(-np.inf, np.unique(targets))
    cuts = cuts[
        np.unique(np.linspace(0, cuts.size - 1, min(cuts.size, _MOST_CUTS)).astype(np.int64))
    ]
    is_high = np.concatenate([targets > cuts[:, None], targets <= cuts[:, None]])
    scores = np.concatenate([x[~is_missing], np.zeros(targets.size), np.ones(targets.size)])
    weights = np.concatenate(
        [np.ones((len(is_high), x.size - targets.size)), ~is_high, is_high], axis=1
    ).astype(np.uint16)
    return bootstrap_correlations(
        scores, np.concatenate([y[~is_missing], targets, targets]), np.arange(scores.size), weights
    )
