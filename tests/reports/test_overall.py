"""All benchmarks of a suite together, and the tests on request, against scipy on the same rows."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.reports.correlations import Agreements, correlate_judges
from judgelake.tasks.stats.difference_tests import permute_both, williams_test
from judgelake.tasks.suite.suite import ReportSettings
from tests.intervals import left_out_ends
from tests.lakes import (
    Row,
    answer,
    append_records,
    digest_of,
    ingest,
    item,
    make_lake,
    make_suite,
    metric_row,
    query,
    rating,
    score_row,
    warehouse,
)
from tests.reports.test_correlating import recorded

SIZES = {"b": (30, ("m1", "m2")), "c": (40, ("m1",))}
REPORT = ReportSettings(resamples=100, seed=0, tests=("williams", "perm_both", "replicates"))
RNG = np.random.default_rng(5)
PEOPLE = {name: RNG.integers(0, 5, (n, len(models))) / 4 for name, (n, models) in SIZES.items()}
SCORES = {
    judge: {name: np.clip(y + RNG.normal(0, noise, y.shape), 0, 1) for name, y in PEOPLE.items()}
    for judge, noise in (("close", 0.2), ("noisy", 0.6), ("once", 0.3))
}
COSTS = {name: 1 - y + RNG.normal(0, 0.4, y.shape) for name, y in PEOPLE.items()}
METRICS = {"b": "d" * 16, "c": "e" * 16}  # a metric whose signature names the benchmark's documents


@pytest.fixture(scope="module")
def agreements(tmp_path_factory: pytest.TempPathFactory) -> Agreements:
    return correlate_judges(warehouse(plant(make_lake(tmp_path_factory.mktemp("overall")))), SUITE)


SUITE = make_suite(benchmarks=("b", "c"), report=REPORT)


def plant(lake: Lake, of_picture: int = 2) -> Lake:
    """So many items a picture; `once` judged the first benchmark only; the metric has another
    signature on each.
    """
    for name, (n, models) in SIZES.items():
        keys = [(k, m, model) for k in range(n) for m, model in enumerate(models)]
        items = [item(f"i{k:02}", f"Q{k}", image=f"{k // of_picture}.png") for k in range(n)]
        ratings = [rating(f"i{k:02}", PEOPLE[name][k, m], answer_id=model) for k, m, model in keys]
        verdicts = [
            recorded(judge, f"i{k:02}", model, 0, scores[name][k, m])
            for judge, scores in SCORES.items()
            for k, m, model in keys
            if judge != "once" or name == "b"
        ]
        answers = [answer(f"i{k:02}", f"{model} on {k}", model) for k, _, model in keys]
        ingest(lake, items, answers, ratings, benchmark=name, recorded_verdicts=verdicts)
        append_records(lake, "judges", [metric_row("cost", METRICS[name], benchmarks=[name])])
        append_records(lake, "metric_scores", [
            score_row(METRICS[name], f"i{k:02}", digest_of(items[k], f"{model} on {k}"), COSTS[name][k, m], benchmark=name)
            for k, m, model in keys
        ])  # fmt: skip
    return lake


def pool(scores: dict[str, np.ndarray], names: Sequence[str] = ("b", "c")) -> np.ndarray:
    return np.concatenate([scores[name].ravel() for name in names])


def pick(
    agreements: Agreements, model: str, coefficient: str = "spearman", benchmark: str = "*"
) -> dict[str, Row]:
    rows = agreements.correlations.filter(
        benchmark=benchmark,
        model=model,
        coefficient=coefficient,
        human_rule="mean",
        sample_rule="mean",
    )
    return {row["judge"]: row for row in rows.iter_rows(named=True)}


def test_overall_pools_the_rows_of_all_benchmarks(agreements: Agreements) -> None:
    found = pick(agreements, "*")
    assert set(found) == {"close", "noisy", "once", "metric:cost"}
    for judge, scores in (*SCORES.items(), ("metric:cost", COSTS)):
        names = ("b",) if judge == "once" else ("b", "c")
        expected = stats.spearmanr(pool(scores, names), pool(PEOPLE, names)).statistic
        assert found[judge]["value"] == pytest.approx(expected, abs=1e-12)
    assert {judge: (row["n"], row["n_clusters"]) for judge, row in found.items()} == {
        "close": (100, 35), "noisy": (100, 35), "once": (60, 15), "metric:cost": (100, 35),  # two items a picture
    }  # fmt: skip
    assert found["close"]["low"] < found["close"]["value"] < found["close"]["high"]


def test_the_interval_leaves_out_clusters_of_both_benchmarks(agreements: Agreements) -> None:
    clusters = np.concatenate([np.repeat(np.arange(30) // 2, 2), 15 + np.arange(40) // 2])
    x, y, row = pool(SCORES["close"]), pool(PEOPLE), pick(agreements, "*")["close"]
    others = [
        stats.spearmanr(x[rest], y[rest]).statistic
        for rest in (clusters != left_out for left_out in range(35))
    ]
    # 15 pictures of four rows and 20 of two
    ends = left_out_ends(row["value"], others, [4] * 15 + [2] * 20)
    assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-12)


def test_the_mean_of_cells_weighs_every_model_of_a_benchmark_alike(agreements: Agreements) -> None:
    found = pick(agreements, "(mean of cells)", "kendall_tau_b")
    cells = [("b", 0), ("b", 1), ("c", 0)]
    taus = [
        stats.kendalltau(SCORES["noisy"][name][:, m], PEOPLE[name][:, m]).statistic
        for name, m in cells
    ]
    row = found["noisy"]
    assert (row["value"], row["n_cells"], row["n"]) == (
        pytest.approx(np.mean(taus), abs=1e-12),
        3,
        100,
    )
    assert row["low"] < row["value"] < row["high"]
    assert (found["once"]["n_cells"], found["once"]["n"]) == (2, 60)


def test_the_view_shows_the_mean_of_cells_and_its_interval_without_each_picture(
    agreements: Agreements, tmp_path: Path
) -> None:
    lake = make_lake(tmp_path)
    append_rows(lake, "correlations", agreements.correlations)
    text = "select mean_of_cells, mean_low, mean_high, n_cells, mean_undefined from rpt_overall "
    (row,) = query(
        lake,
        text + "where judge = 'noisy' and coefficient = 'kendall_tau_b' and human_rule = 'mean'",
    )
    cells = [("b", 0), ("b", 1), ("c", 0)]

    def average(left_out: tuple[str, int] | None) -> float:
        """The mean of the cells' coefficients without a benchmark's picture."""
        taus = []
        for name, m in cells:
            pictures = np.arange(SIZES[name][0]) // 2
            kept = pictures != (left_out[1] if left_out and left_out[0] == name else -1)
            x, y = SCORES["noisy"][name][kept, m], PEOPLE[name][kept, m]
            taus.append(stats.kendalltau(x, y).statistic)
        return float(np.mean(taus))

    value = average(None)
    others = [average((name, k)) for name, n in (("b", 15), ("c", 20)) for k in range(n)]
    low, high = left_out_ends(value, others, [4] * 15 + [2] * 20)
    assert tuple(row.values()) == pytest.approx((value, low, high, 3, 0), abs=1e-12)


def test_overall_judges_are_compared_on_the_rows_both_scored(agreements: Agreements) -> None:
    rows = agreements.comparisons.filter(
        benchmark="*", model="*", coefficient="pearson", human_rule="mean"
    )
    found = {row["judge"]: row for row in rows.iter_rows(named=True)}
    assert {judge: (row["n"], row["n_common"]) for judge, row in found.items()} == {
        "close": (100, 60), "noisy": (100, 100), "once": (60, 60), "metric:cost": (100, 100),
    }  # fmt: skip
    once = stats.pearsonr(pool(SCORES["once"], "b"), pool(PEOPLE, "b")).statistic
    assert found["once"]["common_value"] == pytest.approx(once, abs=1e-12)
    assert not found["noisy"]["is_best"]


def test_one_benchmark_has_no_rows_of_all(
    agreements: Agreements, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lake = plant(make_lake(tmp_path_factory.mktemp("one")))
    report = ReportSettings(resamples=20, seed=0)
    one = correlate_judges(warehouse(lake), make_suite(benchmarks=("b",), report=report))
    assert one.correlations.filter(pl.col("benchmark") == "*").is_empty()
    assert one.tests.is_empty()
    for name, frame in (
        ("correlations", agreements.correlations),
        ("judge_comparisons", agreements.comparisons),
    ):
        append_rows(lake, name, frame)
    rows = query(lake, "select * from rpt_overall where coefficient = 'spearman'")
    assert [row["judge"] for row in rows] == ["close", "once", "noisy", "metric:cost"]
    assert rows[0]["benchmarks"] == ["b", "c"]
    both = pick(agreements, "*")["close"], pick(agreements, "(mean of cells)")["close"]
    assert (rows[0]["pooled"], rows[0]["mean_of_cells"]) == (both[0]["value"], both[1]["value"])
    assert (rows[0]["mean_low"], rows[0]["n_cells"]) == (both[1]["low"], 3)
    append_rows(lake, "correlations", one.correlations.with_columns(suite=pl.lit("alone")))
    (row,) = query(
        lake,
        "select * from rpt_overall where suite = 'alone' and coefficient = 'spearman' and "
        "judge = 'close'",
    )
    alone = (
        pick(one, "*", benchmark="b")["close"],
        pick(one, "(mean of models)", benchmark="b")["close"],
    )
    assert (row["pooled"], row["mean_of_cells"], row["n_cells"]) == (
        alone[0]["value"],
        alone[1]["value"],
        2,
    )


# ---- tests on request


def test_williams_test_is_reported_where_rows_are_independent(tmp_path: Path) -> None:
    report = ReportSettings(resamples=20, seed=0, tests=("williams",))
    lake = plant(make_lake(tmp_path), of_picture=1)
    found = correlate_judges(warehouse(lake), make_suite(benchmarks=("c",), report=report))
    rows = found.tests.filter(model="*", coefficient="pearson", human_rule="mean")
    (row,) = rows.filter(other="noisy").iter_rows(named=True)
    close, noisy, y = (scores["c"].ravel() for scores in (SCORES["close"], SCORES["noisy"], PEOPLE))
    r = [stats.pearsonr(a, b).statistic for a, b in ((close, y), (noisy, y), (close, noisy))]
    expected = williams_test(r[0], r[1], r[2], 40)
    assert (row["judge"], row["n_common"], row["degrees"]) == ("close", 40, 37)
    assert (row["statistic"], row["p"]) == pytest.approx((expected.t, expected.p), rel=1e-9)
    assert row["difference"] == pytest.approx(r[0] - r[1], abs=1e-12)
    assert row["reason"] is None
    # Three judges are three pairs: Holm takes the smaller p times 3, the larger times 2.
    p, corrected = (np.sort(rows[column].to_numpy()) for column in ("p", "p_holm"))
    assert corrected == pytest.approx([min(3 * p[0], 1), min(max(3 * p[0], 2 * p[1]), 1)])


def test_williams_test_is_left_out_with_a_reason_where_rows_share_pictures(
    agreements: Agreements,
) -> None:
    rows = agreements.tests.filter(test="williams", model="*", coefficient="pearson")
    assert rows.height
    assert rows["p"].is_null().all()
    assert rows["p_holm"].is_null().all()
    assert rows["reason"].unique().to_list() == [
        "rows share images or items: Williams' test needs one row of each"
    ]


def test_perm_both_swaps_pictures(agreements: Agreements) -> None:
    rows = agreements.tests.filter(
        test="perm_both", benchmark="b", coefficient="spearman", human_rule="mean"
    )
    assert rows["model"].unique().to_list() == ["*"]  # two models are no system level
    (row,) = rows.filter(other="noisy").iter_rows(named=True)
    close, noisy, y = (scores["b"].ravel() for scores in (SCORES["close"], SCORES["noisy"], PEOPLE))
    expected = permute_both(
        close,
        noisy,
        y,
        np.tile([0, 1], 30),
        np.repeat(np.arange(30) // 2, 2),
        2_000,
        np.random.default_rng(1),
    )
    assert row["p"] == pytest.approx(expected["spearman"].p, abs=0.04)
    assert row["difference"] == pytest.approx(expected["spearman"].difference, abs=1e-12)
    assert (row["statistic"], row["degrees"], row["n_undefined"]) == (None, None, 0)


def test_replicates_are_reported_for_each_setting(agreements: Agreements) -> None:
    rows = agreements.tests.filter(
        test="replicates", coefficient="spearman", human_rule="mean", other="noisy"
    )
    assert rows.select("benchmark", "model").sort("benchmark", "model").rows() == [
        ("*", "*"),
        ("b", "*"),
        ("b", "m1"),
        ("b", "m2"),
        ("c", "*"),
    ]
    assert (rows["p"] < 1e-6).all()  # whatever is resampled often enough
