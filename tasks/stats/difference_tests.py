"""Other tests of whether two judges agree equally well with a target, each with assumptions of its
own.

The project's own is the paired cluster bootstrap in `tasks.stats.judge_comparison`; these are
computed on request, to compare with papers that used them.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import csr_array

from judgelake.tasks.stats.bootstrap import bootstrap_correlations
from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.combining import correlate_weighted
from judgelake.tasks.stats.correlation import COEFFICIENTS, check_pair

Flags = NDArray[np.bool_]

# permutations computed at a time, which bounds memory
_PERMUTATIONS_AT_ONCE = 256
_TOLERANCE = 1e-12
"""A permutation that gives back the sample's difference does so up to rounding."""


class TTest(NamedTuple):
    """A t statistic, its degrees of freedom and its two-sided p-value."""

    t: float
    degrees: float
    p: float


class PermutationTest(NamedTuple):
    """A difference of coefficients, its two-sided p-value (c + 1) / (permutations + 1), and the
    undefined permutations.
    """

    difference: float
    p: float
    n_permutations: int
    n_undefined: int


def williams_test(r_judge: float, r_other: float, r_judges: float, n: int) -> TTest:
    """Williams' test of two correlations with one target (Williams 1959; Steiger 1980,
    Psychological Bulletin 87, equation 7).

    `r_judge` and `r_other` are the judges' correlations with the target, `r_judges` that of the
    judges with each other, over the same `n` rows. Assumes independent rows (no clusters) that are
    jointly normal, and Pearson's coefficient; with rank coefficients it is an approximation that
    machine translation's evaluations have used (Graham & Baldwin 2014).
    """
    if n < 4:
        raise ValueError(
            f"williams_test: {n} rows; expected 4 or more; the test has n - 3 degrees of freedom"
        )
    determinant = 1 - r_judge**2 - r_other**2 - r_judges**2 + 2 * r_judge * r_other * r_judges
    mean = (r_judge + r_other) / 2
    below = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r_judges) ** 3
    with np.errstate(divide="ignore", invalid="ignore"):  # undefined for two copies of one judge
        t = float((r_judge - r_other) * np.sqrt(np.divide((n - 1) * (1 + r_judges), below)))
    return TTest(t, n - 3, float(2 * special.stdtr(n - 3, -abs(t))))


def replicate_t_test(drawn: Floats, other_drawn: Floats) -> TTest:
    """LAVE's test: Welch's t-test between the bootstrap replicates of two judges' coefficients
    ("Correlation with human judgment").

    Takes the replicates for independent observations. They are not: p falls as resamples are added,
    towards 0 for any difference, so it measures how many resamples were drawn rather than how sure
    the difference is. Here to compare with the paper only.
    """
    from scipy.stats import ttest_ind  # takes a second to import

    welch = ttest_ind(drawn[~np.isnan(drawn)], other_drawn[~np.isnan(other_drawn)], equal_var=False)
    return TTest(float(welch.statistic), float(welch.df), float(welch.pvalue))


def permute_both(
    x: Floats,
    other: Floats,
    y: Floats,
    systems: Indices,
    items: Indices,
    permutations: int,
    rng: np.random.Generator,
    level: Literal["global", "system"] = "global",
) -> dict[str, PermutationTest]:
    """Swap the judges' scores of random clusters (`items`), or at level "system" of random systems
    (Deutsch et al. 2021, TACL 9, section 4: PERM-INPUTS, PERM-SYSTEMS).

    Pass clusters as `items` where items share an image. All rows of a cluster are swapped together,
    since they depend on each other. The paper's PERM-BOTH swaps a row where its system or its item
    was picked, not both, and so takes clusters apart: of pairs of equal judges with shared images
    it rejected 12 to 40 % at the 5 % level. Assumes that, were both judges equally good, their
    standardised scores would be exchangeable: scores are standardised over the rows first, and two
    judges of unlike distributions (digits against probabilities) strain it. Rows, (rows,) each,
    need all three scores. `level` "system" correlates the systems' means, "global" the rows.
    """
    check_pair("permute_both", x, y)
    check_pair("permute_both", other, y)
    a, b = _standardise(x), _standardise(other)
    measure = _correlate_rows if level == "global" else _correlate_means
    whole = measure(a, b, y, systems, np.zeros((1, y.size), dtype=np.bool_))
    drawn: dict[str, list[Floats]] = {name: [] for name in COEFFICIENTS}
    for start in range(0, permutations, _PERMUTATIONS_AT_ONCE):
        size = min(_PERMUTATIONS_AT_ONCE, permutations - start)
        swapped = _pick(items if level == "global" else systems, size, rng)
        for name, values in measure(a, b, y, systems, swapped).items():
            drawn[name].append(values)
    return {
        name: _test(float(whole[name][0]), np.concatenate(drawn[name])) for name in COEFFICIENTS
    }


def _correlate_rows(
    a: Floats, b: Floats, y: Floats, _systems: Indices, swapped: Flags
) -> dict[str, Floats]:
    """First judge's coefficient less the second's for each permutation, (permutations, rows): both
    judges' rows stand in one list, and a permutation counts each row once, from one judge or the
    other.
    """
    n = np.arange(2 * y.size)
    rows = np.concatenate([a, b]), np.concatenate([y, y]), n
    first, second = (
        bootstrap_correlations(*rows, np.concatenate([kept, ~kept], axis=1).astype(np.uint16))
        for kept in (~swapped, swapped)
    )
    return {name: first[name] - second[name] for name in COEFFICIENTS}


def _correlate_means(
    a: Floats, b: Floats, y: Floats, systems: Indices, swapped: Flags
) -> dict[str, Floats]:
    _, codes = np.unique(systems, return_inverse=True)
    counts = np.bincount(codes)
    membership = csr_array(
        (1 / counts[codes], (np.arange(codes.size), codes)), shape=(codes.size, counts.size)
    )
    x_means, other_means, target, shift = (
        np.asarray(scores @ membership) for scores in (a, b, y, swapped * (b - a))
    )
    targets, ones = np.broadcast_to(target, shift.shape), np.ones(shift.shape)
    first, second = (
        correlate_weighted(means, targets, ones) for means in (x_means + shift, other_means - shift)
    )
    return {name: first[name] - second[name] for name in COEFFICIENTS}


def _pick(codes: Indices, size: int, rng: np.random.Generator) -> Flags:
    """(permutations, rows): whether each row's code was picked, codes with probability 1/2."""
    picked = rng.integers(2, size=(size, int(codes.max(initial=-1)) + 1), dtype=np.int8).astype(
        np.bool_
    )
    return np.asarray(picked[:, codes])


def _standardise(scores: Floats) -> Floats:
    centred = scores - scores.mean()
    spread = float(centred.std())
    return np.asarray(centred / spread if spread > 0 else centred)


def _test(difference: float, drawn: Floats) -> PermutationTest:
    if np.isnan(difference):
        return PermutationTest(difference, float("nan"), drawn.size, drawn.size)
    as_far = drawn.size - int(
        (np.abs(drawn) < abs(difference) - _TOLERANCE).sum()
    )  # undefined ones count against it
    return PermutationTest(
        difference, (as_far + 1) / (drawn.size + 1), drawn.size, int(np.isnan(drawn).sum())
    )
