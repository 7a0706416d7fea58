"""Scaled averages on CHIRP's own table, agreement with an attribute, superscores."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from tasks.stats.comparisons import select_comparisons
from tasks.stats.resampling import draw_cluster_weights
from tasks.stats.scaling import agree_with_attribute, scale_average, superscore

NAN = math.nan
LLM_SIZES = np.repeat([0.41, 1.4, 2.8, 6.9, 12.0], 4)
VE_SIZES = np.tile([86.0, 307, 632, 1000], 5)
# CHIRP, Table 5, in per cent: SQA text, SQA image, GQA, TextVQA, VQAv2, MM-Vet, LLaVA-Bench; models as in the two vectors above.
TABLE_5 = np.array(
    [
        [38.95, 35.70, 32.96, 17.54, 40.52, 13.4, 19.7],
        [32.96, 35.05, 29.77, 16.95, 39.42, 14.9, 15.6],
        [38.34, 34.80, 32.28, 18.87, 41.33, 11.5, 15.0],
        [35.84, 33.56, 26.88, 20.10, 39.14, 5.1, 10.4],
        [40.34, 36.09, 36.56, 22.42, 51.71, 12.9, 24.4],
        [39.73, 35.40, 36.06, 24.15, 50.25, 15.8, 38.4],
        [39.90, 34.95, 37.05, 22.70, 51.02, 16.6, 27.9],
        [39.24, 34.56, 37.50, 22.96, 52.35, 15.4, 27.7],
        [30.21, 36.99, 33.22, 17.81, 49.55, 19.6, 32.2],
        [29.38, 45.76, 39.72, 30.43, 56.88, 13.4, 31.7],
        [24.52, 19.83, 27.89, 19.20, 52.52, 14.7, 33.3],
        [34.64, 38.72, 39.87, 28.25, 55.22, 16.8, 34.9],
        [31.83, 30.64, 32.80, 13.71, 59.81, 15.4, 34.0],
        [30.68, 20.87, 39.24, 21.93, 64.36, 17.7, 36.8],
        [6.04, 11.25, 37.17, 18.37, 57.34, 19.3, 32.0],
        [29.59, 33.96, 39.12, 30.89, 56.00, 18.3, 37.8],
        [41.22, 38.42, 34.79, 28.31, 51.79, 15.8, 25.7],
        [46.64, 49.28, 42.54, 32.60, 57.39, 18.0, 36.6],
        [44.16, 45.02, 43.55, 31.26, 59.15, 15.5, 35.3],
        [43.17, 42.09, 47.69, 33.22, 62.96, 18.9, 39.3],
    ]
)


def test_largest_model_of_table_5_by_hand() -> None:
    # 12B + ViT-g: SQA (43.17 - 6.04) / (46.64 - 6.04) and (42.09 - 11.25) / (49.28 - 11.25); best on GQA, TextVQA, LLaVA-Bench;
    # VQAv2 (62.96 - 39.14) / (64.36 - 39.14); MM-Vet (18.9 - 5.1) / (19.6 - 5.1).
    parts = [37.13 / 40.60, 30.84 / 38.03, 1, 1, 23.82 / 25.22, 13.8 / 14.5, 1]
    found = scale_average(TABLE_5)
    np.testing.assert_allclose(found.scaled[19], parts)
    assert found.average[19] == pytest.approx(sum(parts) / 7)
    assert found.average.argmax() == 19


def test_table_5_shows_what_the_paper_says_of_it() -> None:
    # Section 5.1: no clear relationship with the vision encoder's size, a slight trend with the LLM's.
    average = scale_average(TABLE_5).average
    assert abs(spearmanr(VE_SIZES, average).statistic) < 0.25
    assert spearmanr(LLM_SIZES, average).statistic > 0.5
    assert average.reshape(5, 4).mean(axis=1).argmin() == 0
    assert average.reshape(5, 4).mean(axis=1).argmax() == 4


def test_scaled_scores_span_0_to_1_and_know_no_unit() -> None:
    found = scale_average(TABLE_5)
    assert (found.scaled.min(axis=0) == 0).all()
    assert (found.scaled.max(axis=0) == 1).all()
    np.testing.assert_allclose(scale_average(TABLE_5 * [1, 2, 3, 4, 5, 6, 7] - 9).average, found.average)


def test_benchmarks_that_separate_none_and_missing_scores() -> None:
    # Benchmark 1 is 5 for all: left out. Model 2 lacks benchmark 2, whose range is 10 to 30.
    found = scale_average(np.array([[0.0, 5, 10], [1, 5, 30], [2, 5, NAN], [2, 5, 20]]))
    assert found.used.tolist() == [True, False, True]
    np.testing.assert_allclose(found.average, [0, 0.75, NAN, 0.75])
    assert np.isnan(scale_average(np.array([[5.0, NAN], [5, NAN]])).average).all()


def test_agreement_with_size_by_hand() -> None:
    # Sizes 1, 2, 2 and unknown. Larger model wins, loses, ties, wins; equal and unknown sizes are left out: 2.5 of 4.
    sizes = np.array([1.0, 2, 2, NAN])
    a, b = np.array([0, 1, 0, 2, 1, 0]), np.array([1, 0, 2, 0, 2, 3])
    drawn = select_comparisons(a, b, np.array([1.0, 1.0, 0.5, 0.0, 1.0, 0.0]), np.arange(6), 4)
    weights = draw_cluster_weights(6, 200, np.random.default_rng(0))
    larger = agree_with_attribute(drawn, sizes, prefers_more=True, weights=weights)
    assert larger.agreement.value == 2.5 / 4
    assert (larger.agreement.n, larger.n_left_out, larger.n_ties) == (4, 2, 1)
    smaller = agree_with_attribute(drawn, sizes, prefers_more=False, weights=weights)
    assert smaller.agreement.value == 1.5 / 4
    assert smaller.agreement.low == pytest.approx(1 - larger.agreement.high)


def test_superscore_by_hand() -> None:
    # Both forms on five answers: long right on 0, 1; short on 1, 2; either on 0, 1, 2. The last two lack a form.
    long = np.array([1.0, 1, 0, 0, 0, 1, NAN])
    short = np.array([0.0, 1, 1, 0, 0, NAN, 1])
    found = superscore(long, short, np.arange(7), draw_cluster_weights(7, 300, np.random.default_rng(0)))
    assert (found.long.value, found.short.value, found.either.value) == (2 / 5, 2 / 5, 3 / 5)
    assert found.either.n == 5
    assert found.either.low < 0.6 < found.either.high


def test_scores_are_a_table() -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        scale_average(np.zeros(3))
