"""Krippendorff's alpha: his worked example, the krippendorff package as oracle, repeated units as
resamples.
"""

import math
from collections.abc import Sequence
from typing import get_args

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.stats.cluster_sums import draw_once
from judgelake.tasks.stats.reliability import Metric, fold_units, krippendorff_alpha
from judgelake.tasks.stats.resampling import draw_cluster_weights

METRICS: Sequence[Metric] = get_args(Metric)
NAN = math.nan
# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section C: four observers, twelve
# units, values missing.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)
UNITS = np.tile(np.arange(12), 4)


@pytest.mark.parametrize(
    ("metric", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_his_worked_example(metric: Metric, alpha: float) -> None:
    found = krippendorff_alpha(UNITS, OBSERVERS.ravel(), metric, UNITS, draw_once(12))
    assert found.alpha.value == pytest.approx(alpha, abs=5e-4)
    assert (found.alpha.n, found.n_units, found.n_left_out) == (40, 11, 1)


def test_alpha_by_hand() -> None:
    # Units (1, 1), (1, 2), (2, 2), n = 6 values, three of each. Nominal: D_o = 2 of 6 coincidences
    # unlike, D_e = 2 * 3 * 3 / 5.
    # alpha = 1 - 2 / (18 / 5) = 4/9.
    found = krippendorff_alpha(
        np.array([0, 0, 1, 1, 2, 2]),
        np.array([1.0, 1, 1, 2, 2, 2]),
        "nominal",
        np.zeros(6, dtype=np.int64),
        draw_once(1),
    )
    assert found.alpha.value == pytest.approx(4 / 9)


@pytest.mark.parametrize("metric", METRICS)
def test_each_resample_is_alpha_of_repeated_units(metric: Metric) -> None:
    rng = np.random.default_rng(1)
    ratings = np.clip(rng.integers(1, 6, 60)[:, None] + rng.integers(-1, 2, (60, 4)), 1, 5).astype(
        np.float64
    )
    ratings[rng.random(ratings.shape) < 0.3] = NAN
    units = clusters = np.repeat(np.arange(60), 4)  # so many that resamples are read
    for one in draw_cluster_weights(60, 15, rng):
        found = krippendorff_alpha(units, ratings.ravel(), metric, clusters, one[None]).alpha
        assert found.value == pytest.approx(
            krippendorff.alpha(ratings.T, level_of_measurement=metric), abs=1e-12
        )
        repeated = ratings[np.repeat(np.arange(60), one)]
        assert found.low == pytest.approx(
            krippendorff.alpha(repeated.T, level_of_measurement=metric), abs=1e-12
        )


@given(
    st.lists(
        st.lists(st.sampled_from([NAN, 0.1, 0.2, 0.7, 3.0]), min_size=3, max_size=3),
        min_size=1,
        max_size=12,
    )
)
def test_alpha_of_any_values_is_the_packages(rows: list[list[float]]) -> None:
    ratings = np.array(rows)
    units = np.repeat(np.arange(len(rows)), 3)
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) >= 2]
    values = np.unique(pairable[~np.isnan(pairable)])
    for metric in METRICS:
        found = krippendorff_alpha(units, ratings.ravel(), metric, units, draw_once(len(rows)))
        if values.size < 2:
            assert math.isnan(found.alpha.value)
        else:
            expected = krippendorff.alpha(pairable.T, level_of_measurement=metric)
            assert found.alpha.value == pytest.approx(expected, abs=1e-9)


def test_slices_of_resamples_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = draw_cluster_weights(12, 60, np.random.default_rng(0))
    whole = krippendorff_alpha(UNITS, OBSERVERS.ravel(), "ordinal", UNITS, weights)
    monkeypatch.setattr("judgelake.tasks.stats.cluster_sums._CHUNK_BYTES", 2_000)
    assert krippendorff_alpha(UNITS, OBSERVERS.ravel(), "ordinal", UNITS, weights) == whole


def test_undefined_resamples_are_counted() -> None:
    # Units (1, 1) and (1, 2): a resample of the first alone has one value.
    weights = np.array([[2, 0], [1, 1], [0, 2]], dtype=np.uint16)
    units, values = np.array([0, 0, 1, 1]), np.array([1.0, 1, 1, 2])
    for metric in METRICS:
        assert krippendorff_alpha(units, values, metric, units, weights).alpha.n_undefined == 1


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="3 unit codes for 2 values"):
        krippendorff_alpha(np.arange(3), np.ones(2), "nominal", np.arange(2), draw_once(2))


def test_codes_of_units_may_be_any_numbers() -> None:
    weights = draw_cluster_weights(12, 20, np.random.default_rng(0))
    for metric in METRICS:
        dense = krippendorff_alpha(UNITS, OBSERVERS.ravel(), metric, UNITS, weights)
        assert (
            krippendorff_alpha(UNITS * 10**9 - 5, OBSERVERS.ravel(), metric, UNITS, weights)
            == dense
        )


@pytest.mark.parametrize("longest", [2, 30])
def test_units_with_the_same_labels_are_one_pattern(longest: int) -> None:
    """Patterns of two labels a unit have numbers; with a unit of thirty there are too many, and the
    sorted labels are compared.
    """
    rng = np.random.default_rng(longest)
    units = np.append(np.repeat(np.arange(60), 2), np.full(longest, 60))
    values = rng.integers(0, 3, units.size).astype(np.float64)
    folded = fold_units(units, values, units)
    assert folded.tally.shape == (
        3,
        len({tuple(sorted(values[units == unit])) for unit in range(61)}),
    )
    for unit in range(61):
        counts = [(values[units == unit] == level).sum() for level in folded.levels]
        np.testing.assert_array_equal(folded.tally.toarray()[:, folded.pattern[unit]], counts)
