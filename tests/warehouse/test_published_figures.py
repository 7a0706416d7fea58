"""The statistics as SQL aggregates over real files: the figures that the data folder's README
gives.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from judgelake.tasks.warehouse.functions import add_functions, macro_texts

pytestmark = pytest.mark.data


@pytest.fixture
def connection(data_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        add_functions(connection)
        for text in macro_texts().values():
            connection.execute(text)
        connection.execute(f"set file_search_path = '{data_folder}'")
        yield connection


def ask(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[Any, ...]:
    (row,) = connection.execute(text).fetchall()
    return row


LIKELIEST = "list_position(p, list_max(p))"
WEIGHTED = "list_dot_product(p, [1, 2, 3, 4]::double[]) / least(list_sum(p), 1)"


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        (LIKELIEST, (0.140091, 0.086990, 0.081134, 1.201643)),
        (WEIGHTED, (0.177301, 0.086675, 0.065928, 0.918676)),
    ],
)
def test_llm_rubric(
    connection: duckdb.DuckDBPyConnection, judge: str, expected: tuple[float, ...]
) -> None:
    *found, n = ask(
        connection,
        f"""
        with judged as (
            select text_id,
                   [answer1_prob, answer2_prob, answer3_prob, answer4_prob] as p
            from read_csv('llm_rubric/judge.tsv', delim = '\t') where criterion = 'Q0'
        ),
        scores as (
            select {judge} as judge, people.Q0 as human
            from judged
            join read_csv('llm_rubric/human.tsv', delim = '\t') as people using (text_id)
        )
        select pearson(judge, human), spearman(judge, human), kendall_tau_b(judge, human),
               sqrt(cluster_mean((judge - human) ** 2)), count(*)
        from scores
        """,
    )
    assert n == 223
    assert found == pytest.approx(expected, abs=5e-7)


def test_truescore_shares(connection: duckdb.DuckDBPyConnection) -> None:
    found = ask(
        connection,
        """
        select cluster_mean(judge_passed), cluster_mean(human_passed), count(human_passed)
        from read_csv('truescore/support_eval.csv')
        """,
    )
    assert found == (pytest.approx(0.83825), pytest.approx(0.718333, abs=5e-7), 600)


def test_truescore_agreement_of_two_versions(connection: duckdb.DuckDBPyConnection) -> None:
    found = ask(
        connection,
        """
        select agreement(judge_may, human_passed), agreement(judge_june, human_passed),
               count(*) - count(*) * agreement(judge_may, judge_june)
        from read_csv('truescore/judge_anchor.csv')
        """,
    )
    assert found == pytest.approx((0.8550, 0.746667, 71), abs=5e-7)


@pytest.mark.parametrize(("file", "alpha"), [("codings", 904 / 1216), ("gcl", 1 / 12)])
def test_krippendorff_alpha(connection: duckdb.DuckDBPyConnection, file: str, alpha: float) -> None:
    """Raters stand in rows and units in columns; a blank is a missing label."""
    (found,) = ask(
        connection,
        f"""
        with labels as (
            unpivot (from read_csv('evalica/{file}.csv', header = false, all_varchar = true))
            on columns(*) into name unit value label
        )
        select krippendorff_alpha(unit, label) from labels
        """,
    )
    assert found == pytest.approx(alpha, abs=1e-9)


DUELS = """
    select "left" as model_a, "right" as model_b,
           case winner when 'right' then 1 when 'left' then 0 else 0.5 end as preference_b
    from read_csv('evalica/{file}.csv')
"""


@pytest.mark.parametrize("file", ["food", "llmfao"])
def test_bradley_terry(connection: duckdb.DuckDBPyConnection, file: str) -> None:
    """Strengths that sum to 1 are ten to the power of ratings over their scale."""
    rows = connection.execute(
        f"""
        with duels as ({DUELS.format(file=file)}),
        ratings as (
            select unnest(map_entries(bradley_terry(model_a, model_b, preference_b)), max_depth := 2)
            from duels
        ),
        strengths as (
            select key as item, 10 ** ((value - 1000) / 400) as strength from ratings
        )
        select item, strength / sum(strength) over () as found, golden.score
        from strengths join read_csv('evalica/{file}-golden.csv') as golden using (item)
        where golden.algorithm = 'bradley_terry'
        """
    ).fetchall()
    assert len(rows) == {"food": 5, "llmfao": 59}[file]
    for item, found, golden in rows:
        assert found == pytest.approx(golden, abs=1e-9), item


@pytest.mark.parametrize("file", ["food", "llmfao"])
def test_elo_in_the_order_of_the_file(connection: duckdb.DuckDBPyConnection, file: str) -> None:
    """`elo` is the mean over random orders; one pass in the file's order is a recursive query."""
    rows = connection.execute(
        f"""
        with recursive duels as ({DUELS.format(file=file)}),
        names as (
            select list(distinct model order by model) as models
            from (select model_a as model from duels union all select model_b from duels)
        ),
        games as (
            select row_number() over () as game, list_position(models, model_a) as a,
                   list_position(models, model_b) as b, preference_b
            from duels, names
        ),
        passes as (
            select 0::bigint as game, list_transform(models, lambda model: 1000::double) as ratings
            from names
            union all
            select games.game, list_transform(ratings, lambda rating, place: rating
                + 4 * (1 - preference_b - 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400)))
                * ((place = a)::int - (place = b)::int))
            from passes join games on games.game = passes.game + 1
        ),
        ratings as (
            select unnest(models) as item, unnest(ratings) as found
            from names, (select max_by(ratings, game) as ratings from passes)
        )
        select item, found, golden.score
        from ratings join read_csv('evalica/{file}-golden.csv') as golden using (item)
        where golden.algorithm = 'elo'
        """
    ).fetchall()
    assert len(rows) == {"food": 5, "llmfao": 59}[file]
    for item, found, golden in rows:
        assert found == pytest.approx(golden, abs=1e-9), item
