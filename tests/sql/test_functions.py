"""The macros of `sql/functions` against scipy and a second implementation: student_t, wilson_end,
odds_end, cluster_key, cluster_spread, interval_reason, mean_ends, share_ends, spread_ends.
"""

from collections.abc import Iterator

import duckdb
import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from judgelake.tasks.stats.estimates import estimate_mean
from judgelake.tasks.stats.resampling import key_clusters
from judgelake.tasks.warehouse.views import function_texts
from tests.intervals import fit_mean, fit_share, odds_ends, plain_ends
from tests.stats.coverage import CLUSTERS, LAYOUTS, draw_shares, measure_views

SPREAD = (
    "select cluster_spread(n, total, all_n) as spread from "
    "(select unnest($n::double[]) as n, unnest($total::double[]) as total, $all_n as all_n)"
)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for text in function_texts().values():
            connection.execute(text)
        yield connection


def find_ends(
    connection: duckdb.DuckDBPyConnection, call: str, values: np.ndarray, clusters: np.ndarray
) -> tuple[float | None, float | None, str | None]:
    given = {
        "n": np.bincount(clusters).tolist(),
        "total": np.bincount(clusters, values).tolist(),
        "all_n": values.size,
    }
    text = f"select ends.low, ends.high, ends.reason from (select {call} as ends from ({SPREAD}))"
    (row,) = connection.execute(text, given).fetchall()
    low, high, reason = row
    return low, high, reason


@pytest.mark.parametrize("degrees", [1.4, 1.9, 3.0, 4.6, 9.0, 30.0, 200.0, 1e7])
def test_student_t_is_scipy_s(connection: duckdb.DuckDBPyConnection, degrees: float) -> None:
    (found,) = connection.execute("select student_t($d)", {"d": degrees}).fetchall()
    assert found[0] == pytest.approx(stats.t.ppf(0.975, degrees), rel=4e-8)


def test_wilson_end_is_wilson_s(connection: duckdb.DuckDBPyConnection) -> None:
    z = stats.norm.ppf(0.975)
    (found,) = connection.execute(
        "select wilson_end(.3, 40, -$z), wilson_end(.3, 40, $z)", {"z": float(z)}
    ).fetchall()
    assert found == pytest.approx(proportion_confint(12, 40, method="wilson"), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_ends_are_those_of_whole_matrices(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(9), rng.geometric(0.2, 9))
    values = np.round(rng.random(clusters.size), 2)
    fit = fit_mean(values, clusters)
    shares = find_ends(connection, "share_ends(spread)", values, clusters)
    means = find_ends(connection, "mean_ends(spread, 0, 1)", values, clusters)
    assert shares[:2] == pytest.approx(odds_ends(fit_share(values, clusters)), rel=1e-6)
    assert means[:2] == pytest.approx(plain_ends(fit, 0, 1), rel=1e-6)
    assert shares[2] is means[2] is None
    assert find_ends(connection, "spread_ends(spread, true)", values, clusters) == shares
    wide = find_ends(connection, "spread_ends(spread, false)", values, clusters)
    assert wide[:2] == pytest.approx(plain_ends(fit), rel=1e-6)


@pytest.mark.parametrize(
    ("values", "clusters"),
    [
        (np.ones(12), np.arange(12) // 2),
        (np.zeros(12), np.arange(12) // 2),
        (np.tile([0.0, 1.0], 6), np.arange(12) // 2),
        (np.arange(300) % 100 // 99, np.arange(300) // 6),
        (1 - np.arange(300) % 50 // 49, np.arange(300) // 6),
        (np.arange(12) % 3 / 2, np.arange(12) // 5),
        (np.arange(12) % 3 / 2, np.arange(12) // 6),
        (np.arange(100) % 4 / 3, np.append(np.zeros(97, dtype=np.int64), [1, 2, 3])),
    ],
)
def test_sql_and_python_say_the_same(
    connection: duckdb.DuckDBPyConnection, values: np.ndarray, clusters: np.ndarray
) -> None:
    low, high, reason = find_ends(connection, "share_ends(spread)", values, clusters)
    found = estimate_mean(values, clusters)
    assert reason == found.reason
    if reason is None:
        assert (low, high) == pytest.approx((found.low, found.high), rel=1e-6)
    else:
        assert (low, high) == (None, None)


@pytest.mark.parametrize("layout", ["equal", "uneven"])
@pytest.mark.parametrize("n_clusters", [5, 10, 30])
def test_means_slopes_and_shares_cover(layout: str, n_clusters: int) -> None:
    # The share of 1,000 samples has a standard deviation of 0.7 points; rare shares of few clusters
    # cover more.
    rng = np.random.default_rng(n_clusters)
    settings = LAYOUTS[layout], n_clusters, 1_000, rng
    for p in (0.5, 0.97):
        found = measure_views("share", draw_shares(p, 0.3, rng), p, *settings)
        assert found.held >= 0.92, (p, found)


@pytest.mark.parametrize(("n_clusters", "p"), [(100, 0.03), (100, 0.97), (200, 0.01)])
def test_rare_shares_of_correlated_rows_cover(n_clusters: int, p: float) -> None:
    # 85 to 90 % with as many degrees of freedom as there are clusters
    rng = np.random.default_rng(n_clusters)
    draw = draw_shares(p, 0.6, rng)
    found = measure_views("share", draw, p, LAYOUTS["uneven"], n_clusters, 1_000, rng)
    assert found.held >= 0.93, found


def test_where_one_cluster_has_97_percent_there_is_a_reason_and_no_interval() -> None:
    rng = np.random.default_rng(1)
    for n_clusters in CLUSTERS:
        draw = draw_shares(0.8, 0.3, rng)
        found = measure_views("share", draw, 0.8, LAYOUTS["97 % in one"], n_clusters, 4, rng)
        assert found.without == 1, n_clusters


def test_a_cluster_s_key_is_that_of_its_name(connection: duckdb.DuckDBPyConnection) -> None:
    text = "select cluster_key('okvqa', 'image 1'), cluster_key('b', '\u00e9')"
    expected = key_clusters(["okvqa/image 1", "b/\u00e9"]).tolist()
    assert list(connection.execute(text).fetchone() or ()) == expected
