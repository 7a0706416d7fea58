"""Samples and cells combined, against loops over the parts; real retests of a judge; the human
ceiling.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from judgelake.tasks.stats.bootstrap import Resampled, resample_correlations
from judgelake.tasks.stats.combining import (
    SampleRule,
    average_correlations,
    combine_samples,
    correlate_cells,
    leave_one_out_ceiling,
    pair_samples,
    split_samples,
)
from judgelake.tasks.stats.human_rules import take_mean
from judgelake.tasks.stats.judge_comparison import compare_correlations
from judgelake.tasks.stats.resampling import draw_cluster_weights

Floats = NDArray[np.float64]


def make_rows(
    n: int, rng: np.random.Generator
) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.uint16]]:
    y = rng.integers(0, 3, n).astype(np.float64)
    return y + rng.normal(size=n), y, np.arange(n) // 2, draw_cluster_weights((n + 1) // 2, 20, rng)


def test_within_model_is_the_mean_over_models_of_every_resample() -> None:
    rng = np.random.default_rng(1)
    x, y, clusters, weights = make_rows(60, rng)
    models = rng.integers(0, 3, 60) * 5
    cells = correlate_cells(x, y, models, clusters, weights)
    assert list(cells) == [0, 5, 10]
    found = average_correlations(list(cells.values()))["kendall_tau_b"]
    taus = [
        stats.kendalltau(x[models == model], y[models == model]).statistic for model in (0, 5, 10)
    ]
    assert found.mean.value == pytest.approx(np.mean(taus), abs=1e-12)
    rows = [
        np.repeat(np.flatnonzero(models == model), weights[7][clusters[models == model]])
        for model in (0, 5, 10)
    ]
    assert found.mean.drawn[7] == pytest.approx(
        np.mean([stats.kendalltau(x[part], y[part]).statistic for part in rows]), abs=1e-12
    )
    assert (found.n_cells, found.n_left_out, found.mean.n) == (3, 0, 60)


def test_a_cell_without_a_coefficient_is_left_out_and_counted_and_a_resample_of_it_undefined() -> (
    None
):
    cells = [
        {
            name: Resampled(value, np.array(drawn), 10, 5)
            for name in ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c")
        }
        for value, drawn in ((0.2, [0.1, 0.3]), (0.6, [math.nan, 0.5]), (math.nan, [0.9, 0.9]))
    ]
    found = average_correlations(cells)["pearson"]
    assert found.mean.value == pytest.approx(0.4)
    np.testing.assert_allclose(found.mean.drawn, [math.nan, 0.4])
    assert (found.n_cells, found.n_left_out, found.mean.n, found.summarise().n_undefined) == (
        2,
        1,
        20,
        1,
    )
    none = average_correlations(cells[2:])["pearson"]
    assert (none.n_cells, none.n_left_out, none.mean.n) == (0, 1, 0)
    assert math.isnan(none.summarise().value)


def test_no_cells_are_refused() -> None:
    with pytest.raises(ValueError, match="no cells"):
        average_correlations([])


def test_three_ways_to_combine_samples() -> None:
    rng = np.random.default_rng(2)
    truth, _, clusters, weights = make_rows(40, rng)
    x, y = truth[:, None] + rng.normal(size=(40, 3)), truth[:, None] + rng.normal(size=(40, 2))
    x[3, 1], y[5, 0], y[6] = math.nan, math.nan, math.nan

    def pearson(a: Floats, b: Floats) -> float:
        scored = ~np.isnan(a) & ~np.isnan(b)
        return float(stats.pearsonr(a[scored], b[scored]).statistic)

    pairs = [(a, b) for a in x.T for b in y.T]
    expected: dict[SampleRule, float] = {
        "mean_then_correlate": pearson(take_mean(x), take_mean(y)),
        "correlate_then_mean": float(np.mean([pearson(a, b) for a, b in pairs])),
        "pooled": pearson(
            np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])
        ),
    }
    for rule, value in expected.items():
        assert combine_samples(x, y, clusters, weights, rule)[
            "pearson"
        ].mean.value == pytest.approx(value, abs=1e-12), rule
    assert combine_samples(x, y, clusters, weights, "mean_then_correlate")["pearson"].mean.n == 39
    # 6 pairs of samples of 40 rows, less 2 where x lacks one, 3 where y lacks one, 6 where y lacks
    # both.
    assert combine_samples(x, y, clusters, weights, "pooled")["pearson"].mean.n == 240 - 2 - 3 - 6


def test_one_sample_is_combined_into_itself() -> None:
    x, y, clusters, weights = make_rows(30, np.random.default_rng(3))
    alone = resample_correlations(x, y, clusters, weights)["spearman"]
    for rule in ("mean_then_correlate", "correlate_then_mean", "pooled"):
        found = combine_samples(x[:, None], y, clusters, weights, rule)["spearman"].mean
        assert (found.value, found.n, found.n_clusters) == (alone.value, alone.n, alone.n_clusters)
        np.testing.assert_array_equal(found.drawn, alone.drawn)


def test_pairs_of_samples_make_a_column_of_several_judges() -> None:
    rng = np.random.default_rng(6)
    truth, _, clusters, weights = make_rows(40, rng)
    x, y = (
        truth[:, None, None] + rng.normal(size=(40, 2, 3)),
        truth[:, None] + rng.normal(size=(40, 2)),
    )
    pairs = pair_samples(x, y)
    assert (pairs.x.shape, pairs.y.shape) == ((240, 2), (240,))
    columns = {
        "correlate_then_mean": compare_correlations(
            pairs.x, pairs.y, clusters[pairs.row], weights, pairs.pair
        ),
        "pooled": compare_correlations(pairs.x, pairs.y, clusters[pairs.row], weights),
    }
    for rule in ("correlate_then_mean", "pooled"):
        for judge in (0, 1):
            alone = combine_samples(
                x[:, judge],
                y,
                clusters,
                weights,
                "pooled" if rule == "pooled" else "correlate_then_mean",
            )
            assert columns[rule]["kendall_tau_b"].own[judge] == pytest.approx(
                alone["kendall_tau_b"].summarise(), abs=1e-12
            )


def test_nothing_scored_is_undefined() -> None:
    _, y, clusters, weights = make_rows(10, np.random.default_rng(7))
    found = combine_samples(np.full((10, 2), math.nan), y, clusters, weights, "pooled")["pearson"]
    assert (found.n_cells, found.n_left_out, found.summarise().n_undefined) == (0, 1, 20)


def test_an_unknown_rule_is_refused() -> None:
    x, y, clusters, weights = make_rows(4, np.random.default_rng(3))
    with pytest.raises(ValueError, match="rule is 'best'"):
        combine_samples(x, y, clusters, weights, "best")  # type: ignore[arg-type]


def test_six_samples_are_three_and_three() -> None:
    target, own = split_samples(np.arange(12.0).reshape(2, 6))
    np.testing.assert_array_equal(target, [[0, 1, 2], [6, 7, 8]])
    np.testing.assert_array_equal(own, [[3, 4, 5], [9, 10, 11]])
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        split_samples(np.zeros((2, 3)))


def test_the_ceiling_leaves_each_annotator_out() -> None:
    rng = np.random.default_rng(4)
    truth, _, clusters, weights = make_rows(50, rng)
    ratings = truth[:, None] + rng.normal(size=(50, 3))
    ratings[:10, 2], x = math.nan, truth[:, None] + rng.normal(size=(50, 2))
    x[20, 1] = math.nan
    found = leave_one_out_ceiling(ratings, x, take_mean, clusters, weights)
    targets = [np.nanmean(np.delete(ratings, a, axis=1), axis=1) for a in range(3)]
    rows = [~np.isnan(ratings[:, a]) for a in range(3)]
    human = [
        stats.pearsonr(ratings[r, a], t[r]).statistic
        for a, (t, r) in enumerate(zip(targets, rows, strict=True))
    ]
    assert found.human["pearson"].mean.value == pytest.approx(np.mean(human), abs=1e-12)
    assert found.human["pearson"].mean.n == 50 + 50 + 40
    judge = [
        stats.pearsonr(x[r & ~np.isnan(x[:, 1]), 1], t[r & ~np.isnan(x[:, 1])]).statistic
        for t, r in zip(targets, rows, strict=True)
    ]
    assert found.judges[1]["pearson"].mean.value == pytest.approx(np.mean(judge), abs=1e-12)


def test_one_annotator_has_no_ceiling() -> None:
    x, _, clusters, weights = make_rows(10, np.random.default_rng(5))
    with pytest.raises(ValueError, match="1 annotators"):
        leave_one_out_ceiling(x[:, None], x[:, None], take_mean, clusters, weights)


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "published"),
    [("mt_bench_eval", (0.8357, 0.8763, 0.8412)), ("vicuna_eval", (0.7992, 0.8043, 0.8221))],
)
def test_a_judge_asked_three_times_agrees_with_itself_as_recorded(
    data_folder: Path, file: str, published: tuple[float, float, float]
) -> None:
    cases = json.loads((data_folder / "judge_retest" / f"{file}.json").read_text(encoding="utf-8"))
    scores = np.array([case["gpt4_score"] for case in cases], dtype=np.float64)
    clusters, weights = (
        np.arange(len(scores)),
        draw_cluster_weights(len(scores), 1, np.random.default_rng(0)),
    )
    found = [
        resample_correlations(scores[:, a], scores[:, b], clusters, weights)["pearson"].value
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    assert found == pytest.approx(published, abs=5e-5)
    pairs = combine_samples(scores[:, :1], scores[:, 1:], clusters, weights, "correlate_then_mean")[
        "pearson"
    ]
    assert pairs.mean.value == pytest.approx(np.mean(found[:2]), abs=1e-12)
