"""The macros of `sql/functions` against scipy and a second implementation: student_t, wilson_end,
odds_end, cluster_key, cluster_spread, interval_reason, interval_reason_of_mean, mean_ends,
share_ends, signed_ends, spread_ends.
"""

from collections.abc import Iterator

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from judgelake.tasks.stats.estimates import estimate_mean
from judgelake.tasks.stats.resampling import key_clusters
from judgelake.tasks.warehouse.views import function_texts
from tests.intervals import fit_mean, fit_share, odds_ends, plain_ends, signed_ends
from tests.stats.coverage import CLUSTERS, LAYOUTS, Tally, draw_shares, measure_views

SPREAD = (
    "select cluster_spread(n, total, all_n) as spread from "
    "(select unnest($n::double[]) as n, unnest($total::double[]) as total, $all_n as all_n)"
)
UNBOUND = "mean_ends(spread, '-infinity'::double, 'infinity'::double)"


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


SIGNED = """
with spreads as (
    select sample, cluster_spread(n, up - down, all_n) as spread,
        cluster_spread(n, up, all_n) as above, cluster_spread(n, down, all_n) as below
    from (select *, sum(n) over (partition by sample) as all_n from drawn)
    group by sample
)

select ends.low as low, ends.high as high, ends.reason as reason
from (select sample, signed_ends(spread, above, below) as ends from spreads) order by sample
"""
Ends = tuple[float | None, float | None, str | None]


def find_signed_ends(
    connection: duckdb.DuckDBPyConnection, samples: list[np.ndarray], clusters: np.ndarray
) -> list[Ends]:
    drawn = [
        pl.DataFrame(
            {
                "n": np.bincount(clusters).astype(np.float64),
                "up": np.bincount(clusters, np.maximum(values, 0)),
                "down": np.bincount(clusters, np.maximum(-values, 0)),
            }
        ).with_columns(sample=number)
        for number, values in enumerate(samples)
    ]
    connection.register("drawn", pl.concat(drawn).to_arrow())
    return connection.execute(SIGNED).fetchall()


def test_differences_have_the_interval_of_what_is_above_and_below(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    samples = [
        np.zeros(24),
        np.eye(24)[3],
        np.eye(24)[3] - np.eye(24)[9],
        np.ones(24),
        np.linspace(-0.6, 0.9, 24),
        np.arange(24) % 4 / 3 - 0.5,
    ]
    for clusters in (np.arange(24), np.arange(24) // 3, np.arange(24) // 7):
        found = find_signed_ends(connection, samples, clusters)
        for values, (low, high, reason) in zip(samples, found, strict=True):
            assert reason is None
            assert (low, high) == pytest.approx(signed_ends(values, clusters), abs=1e-7)
            assert low is not None
            assert high is not None
            assert high - low > 0.1
    for row in find_signed_ends(connection, samples, np.arange(24) // 12):
        assert row == (None, None, "fewer than 3 clusters")


@pytest.mark.parametrize(("p_above", "p_below"), [(0.03, 0.0), (0.05, 0.0), (0.05, 0.03)])
@pytest.mark.parametrize("n_clusters", [10, 30, 100])
def test_rare_differences_cover(
    connection: duckdb.DuckDBPyConnection, p_above: float, p_below: float, n_clusters: int
) -> None:
    # Student's interval alone held the mean in 26 (10 clusters, 3 % differ) to 95 of 100 samples
    rng, tally = np.random.default_rng(n_clusters), Tally()
    drawn = rng.random((400, n_clusters))
    samples = list((drawn < p_above) * 1.0 - (drawn > 1 - p_below))
    for low, high, _ in find_signed_ends(connection, samples, np.arange(n_clusters)):
        tally.add(low, high, p_above - p_below)
    assert tally.close().held >= 0.93
    assert tally.close().without == 0


@pytest.mark.parametrize(("n_clusters", "p"), [(100, 0.05), (100, 0.1), (200, 0.03)])
def test_rare_differences_of_any_size_cover_or_have_none(n_clusters: int, p: float) -> None:
    rng, tally = np.random.default_rng(n_clusters), Tally()
    for _ in range(600):
        values = np.where(rng.random(n_clusters) < p, 3.0, 0.0)
        found = estimate_mean(values, np.arange(n_clusters), "number")
        tally.add(found.low, found.high, 3 * p)
    assert tally.close().held >= 0.92


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.zeros(30), "fewer than 5 clusters differ from 0"),
        (np.eye(30)[:4].sum(axis=0), "fewer than 5 clusters differ from 0"),
        (np.eye(30)[:5].sum(axis=0), None),
        (np.full(30, 0.1), "all clusters have the same mean"),
        (np.array([0.1, 0.2, 0.3]), None),
    ],
)
def test_a_mean_of_any_numbers_needs_clusters_that_differ(
    connection: duckdb.DuckDBPyConnection, values: np.ndarray, reason: str | None
) -> None:
    low, high, found = find_ends(connection, UNBOUND, values, np.arange(values.size))
    mean = estimate_mean(values, np.arange(values.size), "number")
    assert found == mean.reason == reason
    if reason is None:
        assert (low, high) == pytest.approx((mean.low, mean.high), rel=1e-6)


@pytest.mark.parametrize("offset", [1e6, 1e9, 1e12])
def test_numbers_far_from_0_keep_their_digits(
    connection: duckdb.DuckDBPyConnection, offset: float
) -> None:
    values, clusters = offset + np.arange(100.0) % 7, np.arange(100) // 2
    given = {
        "n": np.bincount(clusters).tolist(),
        "total": np.bincount(clusters, values).tolist(),
        "all_n": 100,
    }
    near = SPREAD.replace("all_n)", f"all_n, middle := {offset + 2})", 1)
    text = f"select ends.low, ends.high from (select {UNBOUND} as ends from ({near}))"
    ((low, high),) = connection.execute(text, given).fetchall()
    found = estimate_mean(values, clusters, "number")
    assert (low, high) == pytest.approx((found.low, found.high), abs=1e-3, rel=0)
    fit = fit_mean(values - offset, clusters)
    assert (low - offset, high - offset) == pytest.approx(plain_ends(fit), abs=1e-3, rel=0)


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
