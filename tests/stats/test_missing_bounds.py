"""Worst-case bounds against every filling-in on a grid."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from judgelake.tasks.stats.correlation import COEFFICIENTS, pearson
from judgelake.tasks.stats.missing_bounds import bound_missing, bound_systems

Floats = NDArray[np.float64]


def fill_everywhere(x: Floats, y: Floats, grid: Floats, name: str = "pearson") -> Floats:
    found = []
    missing = np.flatnonzero(np.isnan(x))
    for scores in itertools.product(grid, repeat=missing.size):
        filled = x.copy()
        filled[missing] = scores
        found.append(COEFFICIENTS[name](filled, y))
    return np.array(found)


def test_one_missing_score_by_hand() -> None:
    # Rows (0, 0), (1, 1) and one of target 0 whose score u is missing: deviations of y are -1/3,
    # 2/3, -1/3, so the sums are
    # xy = 2/3 - u/3, yy = 2/3, xx = 1 + u^2 - (1 + u)^2/3. u = 0: (2/3) / sqrt(2/3 * 2/3) = 1. u =
    # 1: (1/3) / (2/3) = 0.5.
    found = bound_missing(np.array([0.0, 1.0, math.nan]), np.array([0.0, 1.0, 0.0]), (0.0, 1.0))[
        "pearson"
    ]
    assert (found.low, found.high) == pytest.approx((0.5, 1.0), abs=1e-9)
    assert found[2:] == (1, True)


def test_the_best_score_may_lie_inside_the_scale() -> None:
    # On the line through (1, 0) and (5, 4) a target of 1 belongs to score 2: then r = 1.
    found = bound_missing(np.array([1.0, 5.0, math.nan]), np.array([0.0, 4.0, 1.0]), (1.0, 5.0))[
        "pearson"
    ]
    assert found.high == pytest.approx(1.0, abs=1e-9)
    assert found.low == pytest.approx(
        pearson(np.array([1.0, 5.0, 5.0]), np.array([0.0, 4.0, 1.0])), abs=1e-9
    )


ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0, 0.83]), st.integers(0, 3)),
    min_size=2,
    max_size=9,
)


@given(ROWS, st.lists(st.integers(0, 3), min_size=1, max_size=2))
@settings(max_examples=25)
def test_no_filling_in_of_pearson_goes_beyond(
    rows: list[tuple[float, int]], unscored: list[int]
) -> None:
    x, y = np.array([*rows, *[(math.nan, target) for target in unscored]]).T
    found = bound_missing(x, y, (0.0, 1.0))["pearson"]
    everywhere = fill_everywhere(x, y, np.linspace(0, 1, 7))
    if np.isnan(everywhere).all():
        assert math.isnan(found.low)
        return
    assert found.low <= np.nanmin(everywhere) + 1e-7
    assert found.high >= np.nanmax(everywhere) - 1e-7
    # The grid comes near the ends, too, so the bounds are not merely wide.
    assert found.low >= np.nanmin(everywhere) - 0.25
    assert found.high <= np.nanmax(everywhere) + 0.25


@given(ROWS, st.lists(st.integers(0, 3), min_size=1, max_size=2), st.integers(2, 4))
@settings(max_examples=25)
def test_no_filling_in_of_any_coefficient_goes_beyond_for_rows_and_models(
    rows: list[tuple[float, int]], unscored: list[int], n_systems: int
) -> None:
    # Of 800 random cases every fourth had a filling-in that went beyond a rank coefficient's ends
    # while those were the extremes over fillings-in high above a cut of the target and low below.
    x, y = np.array([*rows, *[(math.nan, target) for target in unscored]]).T
    codes = np.unique(np.arange(x.size) % n_systems, return_inverse=True)[1]
    of_rows = bound_missing(x, y, (0.0, 1.0))
    of_models = bound_systems(x, y, codes, (0.0, 1.0))
    grid = np.linspace(0, 1, 5)
    for name, coefficient in COEFFICIENTS.items():
        means = []
        for scores in itertools.product(grid, repeat=len(unscored)):
            filled = np.append(x[: len(rows)], scores)
            sides = (
                np.round(np.bincount(codes, side) / np.bincount(codes), 12) for side in (filled, y)
            )
            means.append(coefficient(*sides))
        for found, everywhere in (
            (of_rows[name], fill_everywhere(x, y, grid, name)),
            (of_models[name], np.array(means)),
        ):
            defined = everywhere[~np.isnan(everywhere)]
            if defined.size:
                assert found.low <= defined.min() + 1e-6, name
                assert found.high >= defined.max() - 1e-6, name


def test_bounds_of_rank_coefficients_hold_the_ends_of_the_scale() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 60).astype(np.float64)
    x = np.clip(y / 2 + rng.normal(size=60) * 0.3, 0, 1)
    whole = {name: coefficient(x, y) for name, coefficient in COEFFICIENTS.items()}
    x[::10] = math.nan
    found = bound_missing(x, y, (0.0, 1.0))
    for name, bounds in found.items():
        assert bounds.low < whole[name] < bounds.high, name
        assert bounds.is_exact == (name == "pearson")
        ends = fill_everywhere(x, y, np.array([0.0, 1.0]), name)
        assert bounds.low <= ends.min() + 1e-12
        assert bounds.high >= ends.max() - 1e-12


def test_nothing_missing_is_no_width_and_all_missing_all_of_it() -> None:
    x, y = np.array([0.0, 1.0, 0.5]), np.array([0.0, 1.0, 2.0])
    found = bound_missing(np.append(x, math.nan), np.append(y, math.nan), (0.0, 1.0))["spearman"]
    assert (found.low, found.high) == pytest.approx((0.5, 0.5))
    assert found[2:] == (0, True)
    nothing = bound_missing(np.full(3, math.nan), y, (0.0, 1.0))
    assert nothing["pearson"][:3] == pytest.approx((-1.0, 1.0, 3), abs=1e-9)
    empty = bound_missing(np.empty(0), np.empty(0), (0.0, 1.0))["pearson"]
    assert math.isnan(empty.low)


@pytest.mark.parametrize("scale", [(0.0, 0.5), (1.0, 1.0), (2.0, 1.0), (0.2, 2.0)])
def test_scores_off_the_scale_are_refused(scale: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"scores go from 0\.0 to 1\.0"):
        bound_missing(np.array([0.0, 1.0, math.nan]), np.array([0.0, 1.0, 1.0]), scale)


# ---- models' means


def test_bounds_of_three_models_by_hand() -> None:
    # Targets 0, 0.5, 1; the models' scores are 0.4, 0.5 and (0.6, missing): the last mean lies
    # between 0.3 and 0.8. At 0.8 all rise with the
    # target, tau-b 1; at 0.3 of the pairs one is concordant (0.4 before 0.5) and two are
    # discordant: -1/3.
    x, y = np.array([0.4, 0.5, 0.6, math.nan]), np.array([0.0, 0.5, 1.0, 1.0])
    found = bound_systems(x, y, np.array([4, 5, 7, 7]), (0.0, 1.0))["kendall_tau_b"]
    assert (found.low, found.high) == pytest.approx((-1 / 3, 1.0))
    assert found[2:] == (1, False)


def test_ends_of_the_models_means_hold_every_filling_in_of_few() -> None:
    rng = np.random.default_rng(8)
    systems = np.repeat(np.arange(4), 5)
    y = rng.random(20)
    x = np.clip(y + rng.normal(0, 0.4, 20), 0, 1)
    whole = x.copy()
    x[[1, 7, 12, 13]] = math.nan
    found = bound_systems(x, y, systems, (0.0, 1.0))
    means = np.bincount(systems, y) / 5
    filled_of: dict[str, list[float]] = {name: [] for name in COEFFICIENTS}
    for scores in itertools.product(np.linspace(0, 1, 5), repeat=4):
        whole[[1, 7, 12, 13]] = scores
        for name, filled in filled_of.items():
            filled.append(COEFFICIENTS[name](np.bincount(systems, whole) / 5, means))
    for name, filled in filled_of.items():
        assert found[name].low - 1e-9 <= min(filled), name
        assert found[name].high + 1e-9 >= max(filled), name
    assert found["pearson"].high == pytest.approx(
        max(filled_of["pearson"]), abs=0.01
    )  # on the grid; inside the box, not at a corner
