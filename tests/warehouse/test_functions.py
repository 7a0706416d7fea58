"""The statistics as SQL aggregates, against other packages and a report."""

from collections.abc import Callable, Iterator
from typing import Any

import choix
import duckdb
import krippendorff
import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_table

from judgelake.tasks.stats.signatures import SIGNATURES
from judgelake.tasks.warehouse.functions import add_functions, describe_functions, macro_texts

N = 240
RNG = np.random.default_rng(3)
X, Y = RNG.integers(0, 5, N), RNG.integers(0, 5, N)
WORDS = np.array(["bad", "fair", "good"])
ROWS = pl.DataFrame(
    {
        "x": X.astype(float),
        "y": np.clip(X + Y - 2, 0, 4).astype(float),
        "a": WORDS[RNG.integers(0, 3, N)],
        "b": WORDS[RNG.integers(0, 3, N)],
        "model": [f"m{k % 4}" for k in range(N)],
        "item": [f"i{k // 4}" for k in range(N)],
        "image": [f"picture {k // 8}" for k in range(N)],
        "side": ["left" if k % 3 else "right" for k in range(N)],
        "other": [f"m{(k + 1 + k // 4 % 3) % 4}" for k in range(N)],
    }
)
CHOICE = "case when {0} < 2 then 'a' when {0} > 2 then 'b' else 'tie' end"
ARGUMENTS = {
    name: ", ".join(
        {"model_a": "model", "model_b": "other", "preference_b": "x / 4", "unit": "item"}.get(
            column, {"label": "x"}.get(column, column)
        )
        for column in signature.columns
    )
    for name, signature in SIGNATURES.items()
} | {
    "win_rate": "x / 4",
    "weighted_kappa": "x, y",
    "matchup_kappa": f"{CHOICE.format('x')}, {CHOICE.format('y')}, model, other",
}


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        add_functions(connection)
        for text in macro_texts().values():
            connection.execute(text)
        connection.register("given", ROWS.to_arrow())
        connection.execute("create table rows as from given")
        yield connection


def ask(connection: duckdb.DuckDBPyConnection, text: str) -> Any:
    ((found,),) = connection.execute(text).fetchall()
    return found


def columns(*names: str) -> list[Any]:
    return [ROWS[name].to_numpy() for name in names]


def pairs_ranked_alike() -> float:
    shares = []
    for (_,), rows in ROWS.group_by("item"):
        x, y = rows["x"].to_numpy(), rows["y"].to_numpy()
        i, j = np.triu_indices(len(x), 1)
        shares.append((np.sign(x[i] - x[j]) == np.sign(y[i] - y[j])).mean())
    return float(np.mean(shares))


def alpha(level: Any) -> float:
    table = ROWS["x"].to_numpy().reshape(-1, 4).T
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement=level))


EXPECTED: dict[str, Callable[[], Any]] = {
    "pearson(x, y)": lambda: stats.pearsonr(*columns("x", "y")).statistic,
    "spearman(x, y)": lambda: stats.spearmanr(*columns("x", "y")).statistic,
    "kendall_tau_b(x, y)": lambda: stats.kendalltau(*columns("x", "y")).statistic,
    "kendall_tau_c(x, y)": lambda: stats.kendalltau(*columns("x", "y"), variant="c").statistic,
    "agreement(a, b)": lambda: (ROWS["a"] == ROWS["b"]).mean(),
    "cohen_kappa(a, b)": lambda: cohen_kappa_score(*columns("a", "b")),
    "cohen_kappa(x::integer, y)": lambda: cohen_kappa_score(*columns("x", "y")),
    "weighted_kappa(x, y)": lambda: cohen_kappa_score(*columns("x", "y"), weights="quadratic"),
    "weighted_kappa(x, y, weights := 'linear')": lambda: cohen_kappa_score(
        *columns("x", "y"), weights="linear"
    ),
    "fleiss_kappa(item, a)": lambda: fleiss_of_table(
        aggregate_raters(ROWS["a"].rank("dense").to_numpy().reshape(-1, 4))[0]
    ),
    "krippendorff_alpha(item, x)": lambda: alpha("nominal"),
    "krippendorff_alpha(item, x, metric := 'ordinal')": lambda: alpha("ordinal"),
    "krippendorff_alpha(item, x, metric := 'interval')": lambda: alpha("interval"),
    "pair_accuracy(x, y, item)": pairs_ranked_alike,
    "cluster_mean(x)": lambda: ROWS["x"].mean(),
    "win_rate(x / 4)": lambda: (ROWS["x"] / 4).mean(),
}


@pytest.mark.parametrize("call", EXPECTED)
def test_values_are_those_of_other_packages(
    connection: duckdb.DuckDBPyConnection, call: str
) -> None:
    assert ask(connection, f"select {call} from rows") == pytest.approx(EXPECTED[call](), abs=1e-9)


def test_ratings_are_those_of_choix(connection: duckdb.DuckDBPyConnection) -> None:
    text = "select bradley_terry(model, other, case when x > 2 then 1 else 0 end) from rows"
    found = ask(connection, text)
    models = sorted(found)
    won = [
        (row["other"], row["model"]) if row["x"] > 2 else (row["model"], row["other"])
        for row in ROWS.iter_rows(named=True)
    ]
    places = [(models.index(winner), models.index(loser)) for winner, loser in won]
    logits = choix.opt_pairwise(len(models), places)
    expected = 1000 + 400 / np.log(10) * (logits - logits.mean())
    np.testing.assert_allclose([found[model] for model in models], expected, atol=1e-2)
    elo = ask(connection, "select elo(model, other, case when x > 2 then 1 else 0 end) from rows")
    assert sorted(elo, key=elo.get) == sorted(found, key=found.get)


def test_chance_by_matchup_is_that_of_chirp(connection: duckdb.DuckDBPyConnection) -> None:
    # Appendix C.2.5: the labels are the models; chance agreement is taken within each matchup and
    # weighted by how often it is met.
    text = f"select model, other, {CHOICE.format('x')}, {CHOICE.format('y')} from rows"
    named = [
        (frozenset(pair), *({"a": pair[0], "b": pair[1]}.get(choice, choice) for choice in choices))
        for *pair, one, other in connection.execute(text).fetchall()
        for choices in [(one, other)]
    ]
    agreed = sum(one == other for _, one, other in named) / N
    chance = 0.0
    for matchup in {matchup for matchup, _, _ in named}:
        own = [(one, other) for met, one, other in named if met == matchup]
        for label in {label for row in own for label in row}:
            shares = [sum(row[side] == label for row in own) / len(own) for side in (0, 1)]
            chance += shares[0] * shares[1] * len(own) / N
    call = f"matchup_kappa({ARGUMENTS['matchup_kappa']})"
    expected = (agreed - chance) / (1 - chance)
    assert ask(connection, f"select {call} from rows") == pytest.approx(expected, abs=1e-12)


def test_soft_and_tie_calibrated_accuracy(connection: duckdb.DuckDBPyConnection) -> None:
    plain, calibrated, own, soft = connection.execute(
        "select pair_accuracy(x, y, item), tie_calibrated_accuracy(x, y, item), "
        "pair_accuracy(y, y, item), soft_pairwise_accuracy(y, y, model, item) from rows"
    ).fetchone()  # type: ignore[misc]
    assert calibrated >= plain
    assert (own, soft) == (1, 1)


@pytest.mark.parametrize("name", SIGNATURES)
def test_both_forms_agree_in_any_order_of_rows(
    connection: duckdb.DuckDBPyConnection, name: str
) -> None:
    cluster = "item" if "item" in ARGUMENTS[name] else "image"
    calls = (
        f"select {name}({ARGUMENTS[name]}), "
        f"{name}_ci({ARGUMENTS[name]}, {cluster}, resamples := 200)"
    )
    value, estimate = connection.execute(f"{calls} from rows").fetchone()  # type: ignore[misc]
    shuffled = connection.execute(f"{calls} from (from rows order by hash(item, x, y))").fetchone()
    assert shuffled == (value, estimate)
    if SIGNATURES[name].rates_models:
        assert {rated["model"]: rated["value"] for rated in estimate} == value
        assert all(rated["low"] < rated["value"] < rated["high"] for rated in estimate)
        assert all(rated["method"] and rated["n_clusters"] > 0 for rated in estimate)
        return
    assert estimate["value"] == pytest.approx(value, abs=1e-12)
    if estimate["reason"] is None:
        assert estimate["low"] < value < estimate["high"]
        assert estimate["method"]
    else:
        assert (estimate["low"], estimate["method"]) == (None, None)


def test_seeds_and_resamples_are_options(connection: duckdb.DuckDBPyConnection) -> None:
    # 60 items: fewer clusters are left out one by one, which no seed changes
    ends = {
        options: ask(connection, f"select spearman_ci(x, y, item{options}).low from rows")
        for options in (
            "",
            ", seed := 0",
            ", seed := 1",
            ", resamples := 1000",
            ", resamples := 50",
        )
    }
    assert ends[""] == ends[", seed := 0"] == ends[", resamples := 1000"]
    assert len(set(ends.values())) == 3


def test_groups_having_and_pivot(connection: duckdb.DuckDBPyConnection) -> None:
    grouped = "select side, model, spearman(x, y) as value from rows group by all"
    of_side = dict(
        connection.execute(
            "select side, spearman(x, y) from rows group by side having spearman(x, y) > -1"
        ).fetchall()
    )
    for side, value in of_side.items():
        part = ROWS.filter(pl.col("side") == side)
        assert value == pytest.approx(stats.spearmanr(part["x"], part["y"]).statistic, abs=1e-12)
    table = connection.execute(
        f"pivot ({grouped}) on model using first(value) group by side order by side"
    ).fetchall()
    assert [row[0] for row in table] == ["left", "right"]
    assert len(table[0]) == 5
    ends = connection.execute(
        "select side, unnest(spearman_ci(x, y, image)) from rows group by side order by side"
    )
    assert [column[0] for column in ends.description][1:4] == ["value", "low", "high"]


def test_missing_numbers_are_left_out_and_counted(connection: duckdb.DuckDBPyConnection) -> None:
    text = (
        "select spearman_ci(case when item = 'i0' then null else x end, "
        "case when item = 'i1' then 'nan'::double else y end, image) from rows"
    )
    found = ask(connection, text)
    kept = ROWS.filter(~pl.col("item").is_in(["i0", "i1"]))
    assert (found["n"], found["n_missing"]) == (N - 8, 8)
    assert found["value"] == pytest.approx(stats.spearmanr(kept["x"], kept["y"]).statistic)


def test_ratings_count_clusters_and_missing_rows(connection: duckdb.DuckDBPyConnection) -> None:
    duels = (
        "(values ('a', 'b', 1.0, 'x'), ('a', 'b', 0.0, 'x'), ('b', 'c', 0.5, 'y'), "
        "('b', 'c', null, 'z')) as duels (one, other, preference_b, c)"
    )
    for name in ("elo_ci", "bradley_terry_ci"):
        found = ask(connection, f"select {name}(one, other, preference_b, c) from {duels}")
        counts = [(rated["n"], rated["n_clusters"], rated["n_missing"]) for rated in found]
        assert counts == [(2, 1, 1), (3, 2, 1), (1, 1, 1)]


def test_elo_says_where_its_order_depends_on_how_often_a_model_was_compared(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    duels = (
        "(select 'a' as one, if(n < 300, 'b', 'c') as other, n % 2 as preference_b, n as c "
        "from range(310) as numbers (n)) as duels"
    )
    found = ask(connection, f"select elo_ci(one, other, preference_b, c) from {duels}")
    assert {rated["reason"] for rated in found} == {
        "models were compared 10 to 310 times, too few for Elo with K = 4 to settle: its order "
        "depends on how often a model was compared"
    }
    even = duels.replace("n < 300", "n < 155")
    found = ask(connection, f"select elo_ci(one, other, preference_b, c, k := 32) from {even}")
    assert {rated["reason"] for rated in found} == {None}


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("spearman_ci(x, y, image) from rows where false", "no rows"),
        ("spearman_ci(x, y, item, resamples := 0) from rows", "no resamples"),
        ("spearman_ci(x, 1, image) from rows", "undefined on the sample"),
        ("spearman_ci(x, y, side) from rows", "fewer than 5 clusters"),
        ("win_rate_ci(x / 4, side) from rows", "fewer than 3 clusters"),
        ("fleiss_kappa_ci(item || model, a, image) from rows", "no unit has two labels"),
        ("soft_pairwise_accuracy_ci(x, y, 'm', item, item) from rows", "fewer than two models"),
    ],
)
def test_what_is_undefined_is_null_with_a_reason(
    connection: duckdb.DuckDBPyConnection, call: str, reason: str
) -> None:
    found = ask(connection, f"select {call}")
    assert (found["low"], found["high"], found["reason"]) == (None, None, reason)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "weighted_kappa(x, y, weights := 'cubic')",
            "'cubic'; expected one of 'nominal', 'linear'",
        ),
        ("krippendorff_alpha(item, x, metric := 'ratio')", "'ratio'; expected one of"),
        ("matchup_kappa(x, y, model, other)", "a choice is 0; expected a, b or tie"),
        ("win_rate(x)", "a preference of 0 to 4; expected 0 to 1"),
        ("spearman_ci(x, y, image, resamples := -1)", "-1 resamples; expected 0 or more"),
        ("pair_accuracy_ci(x, y, image, item)", "'.+' has rows in several clusters; expected one"),
        ("spearman(a, y)", "Could not convert string"),
    ],
)
def test_wrong_arguments_say_what_is_expected(
    connection: duckdb.DuckDBPyConnection, call: str, message: str
) -> None:
    with pytest.raises(duckdb.Error, match=message):
        ask(connection, f"select {call} from rows")


def test_every_statistic_is_described() -> None:
    described = [call.partition("(")[0] for call in describe_functions()]
    assert described == list(SIGNATURES)
    assert "krippendorff_alpha(unit, label, metric := 'nominal')" in describe_functions()
