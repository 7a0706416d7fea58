"""Tie calibration against every pair written out, and accuracy of best-of-n choices by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from judgelake.tasks.stats import pair_accuracy
from judgelake.tasks.stats.pair_accuracy import tie_calibrated_accuracy
from judgelake.tasks.stats.resampling import draw_cluster_weights, expanded_interval

Floats = NDArray[np.float64]


def share_right(x: Floats, y: Floats, epsilon: float) -> float:
    pairs = list(itertools.combinations(range(x.size), 2))
    right = [
        y[i] == y[j] if round(abs(x[i] - x[j]), 9) <= round(epsilon, 9) else (x[i] - x[j]) * (y[i] - y[j]) > 0
        for i, j in pairs
    ]  # fmt: skip
    return float(np.mean(right))


def calibrate_slowly(x: Floats, y: Floats, groups: NDArray[np.int64]) -> tuple[float, float]:
    """Best mean accuracy over groups and its smallest epsilon, trying the distance of every
    pair.
    """
    parts = [
        (x[groups == group], y[groups == group])
        for group in np.unique(groups)
        if (groups == group).sum() > 1
    ]
    epsilons = sorted(
        {
            0.0,
            *(
                round(float(abs(a - b)), 9)
                for part, _ in parts
                for a, b in itertools.combinations(part, 2)
            ),
        }
    )
    accuracies = [
        np.round(np.mean([share_right(*part, epsilon) for part in parts]), 12)
        for epsilon in epsilons
    ]
    best = int(np.argmax(accuracies))
    return float(accuracies[best]), epsilons[best]


def test_examples_of_the_authors_code() -> None:
    # Six pairs of metric 0 2 6 8. People 1 2 3 4: 6/6 at epsilon 0. People 1 1 1 4: 3/6 at 0, 4/6
    # at 4 (ties 0-2, 2-6; 0-6 and
    # 2-8 stay apart, the one tied by people, the other not).
    metric, weights, rng = (
        np.array([0.0, 2, 6, 8]),
        np.ones((1, 4), dtype=np.int64),
        np.random.default_rng(0),
    )
    first = tie_calibrated_accuracy(
        metric, np.array([1.0, 2, 3, 4]), None, np.arange(4), weights, rng
    )
    assert (first.accuracy.value, first.epsilon, first.n_pairs) == (1.0, 0.0, 6)
    second = tie_calibrated_accuracy(
        metric, np.array([1.0, 1, 1, 4]), None, np.arange(4), weights, rng
    )
    assert (second.accuracy.value, second.epsilon, second.uncalibrated) == pytest.approx(
        (4 / 6, 4.0, 3 / 6)
    )


def test_the_authors_example_of_a_matrix_with_missing_scores() -> None:
    # Five items of five systems; mean over the four that have pairs, 0.4667 at epsilon 0 and 0.4917
    # at 1.
    nan = math.nan
    metric = np.array(
        [[0, 5, 2, 3, 2], [nan, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [nan] * 5]
    )
    human = np.array(
        [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, nan, 3, 2], [nan] * 5]
    )
    item = np.repeat(np.arange(5), 5)[scored := ~np.isnan((metric + human).ravel())]
    rng = np.random.default_rng(0)
    found = tie_calibrated_accuracy(
        metric.ravel()[scored],
        human.ravel()[scored],
        item,
        item,
        np.ones((1, 5), dtype=np.int64),
        rng,
    )
    assert (found.accuracy.value, found.epsilon) == pytest.approx(
        (0.4916666666666668, 1.0), abs=1e-12
    )
    assert found.uncalibrated == pytest.approx(0.4666666666666667, abs=1e-12)


SCORES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=24
)


@given(SCORES)
@settings(max_examples=60)
def test_agrees_with_every_pair(rows: list[tuple[int, int, int]]) -> None:
    values, y, groups = np.array(rows).T
    x, y, weights = values / 10, y.astype(np.float64), np.ones((1, 24), dtype=np.int64)
    rng = np.random.default_rng(0)
    pooled = tie_calibrated_accuracy(x, y, None, np.arange(x.size), weights, rng)
    assert (pooled.accuracy.value, pooled.epsilon) == pytest.approx(
        calibrate_slowly(x, y, np.zeros_like(groups)), abs=1e-12
    )
    if np.bincount(groups).max() > 1:
        by_group = tie_calibrated_accuracy(x, y, groups, groups, weights, rng)
        assert (by_group.accuracy.value, by_group.epsilon) == pytest.approx(
            calibrate_slowly(x, y, groups), abs=1e-12
        )


def test_resamples_leave_out_pairs_of_a_row_with_itself() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 90).astype(np.float64)
    x, clusters = np.round(y + rng.normal(size=90), 1), np.arange(90) // 2
    weights = draw_cluster_weights(45, 200, rng)
    found = tie_calibrated_accuracy(x, y, None, clusters, weights, rng)
    i, j = np.array(list(itertools.combinations(range(90), 2))).T
    right = np.array(
        [share_right(x[[a, b]], y[[a, b]], found.epsilon) for a, b in zip(i, j, strict=True)]
    )
    times = weights[:, clusters].astype(np.float64)
    expected = (times[:, i] * times[:, j]) @ right / (times[:, i] * times[:, j]).sum(axis=1)
    assert (found.accuracy.low, found.accuracy.high) == pytest.approx(
        expanded_interval(expected, 45)[:2], abs=1e-12
    )


def test_many_pairs_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 300).astype(np.float64)
    x, item, weights = (
        y + rng.normal(size=300),
        np.arange(300) // 30,
        np.ones((1, 10), dtype=np.int64),
    )
    whole = tie_calibrated_accuracy(x, y, item, item, weights, rng)
    monkeypatch.setattr(pair_accuracy, "MOST_PAIRS", 2_000)
    drawn = tie_calibrated_accuracy(x, y, item, item, weights, rng)
    assert (whole.n_pairs, drawn.n_pairs) == (10 * 30 * 29 // 2, 2_000)
    assert drawn.accuracy.value == pytest.approx(whole.accuracy.value, abs=0.05)


def test_a_group_of_several_clusters_is_refused() -> None:
    rows, scores = np.arange(3), np.arange(3.0)
    with pytest.raises(ValueError, match="group 7 has rows of several clusters"):
        tie_calibrated_accuracy(
            scores,
            scores,
            rows * 0 + 7,
            rows,
            np.ones((1, 3), dtype=np.int64),
            np.random.default_rng(0),
        )


def test_groups_of_one_have_no_accuracy() -> None:
    rows, scores = np.arange(3), np.arange(3.0)
    found = tie_calibrated_accuracy(
        scores, scores, rows, rows, np.ones((1, 3), dtype=np.int64), np.random.default_rng(0)
    )
    assert math.isnan(found.accuracy.value)
    assert math.isnan(found.uncalibrated)
    assert (found.epsilon, found.n_pairs) == (0.0, 0)
