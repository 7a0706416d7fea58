"""The cases of a jury: the members' verdicts in the lake, case by case, with the weights that are
learnt for them. How votes are combined is `tasks.judging.jury`.

A jury's case is named by a digest of its votes, as a judge's by what it is shown: where a member
gets another verdict, or a weight changes, the case is another one and is judged again.
"""

import duckdb
import numpy as np
import polars as pl

from judgelake.tasks.digests import digest_json
from judgelake.tasks.judging.jury import LEAST_LABELLED
from judgelake.tasks.stats.cluster_sums import Floats
from judgelake.tasks.stats.jury_weights import cross_fit
from judgelake.tasks.types import Wants
from judgelake.tasks.warehouse.warehouse import keep_result, select_file

N_FOLDS = 5
_DIGITS = 3
"""Of a weight: a label more must not be another case for nothing."""
_WEIGHTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "benchmark": pl.String,
    "item_id": pl.String,
    "criterion": pl.String,
    "weights": pl.List(pl.Float64),
}


def keep_votes(
    connection: duckdb.DuckDBPyConnection, wants: Wants, parameters: dict[str, object]
) -> None:
    """Leave `wanted_cases` of a jury in the connection, where its `wanted_contexts` already are."""
    seats = [
        {
            "place": place,
            "alias": seat.alias,
            "judge_id": seat.judge_id,
            "reading": seat.reading,
            "own_criterion": own,
            "criterion": criterion,
        }
        for place, seat in enumerate(wants.seats, 1)
        for own, (criterion, *_) in zip(seat.criteria, wants.criteria, strict=True)
    ]
    given = {**parameters, "seats": seats, "quorum": wants.quorum}
    keep_result(connection, "queries/jury_votes.sql", "jury_votes", given)
    weights = _learn(connection) if wants.learns else pl.DataFrame(schema=_WEIGHTS)
    connection.register("given_weights", weights.to_arrow())
    connection.execute("create or replace temp table jury_weights as select * from given_weights")
    connection.unregister("given_weights")
    keep_result(connection, "queries/wanted_votes.sql", "wanted_cases", {})


def _learn(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Weights by labelled item, learnt on the labels of other items alone, and for all other items
    (null) those learnt on every label; null where there are too few.
    """
    rows: list[tuple[str | None, str | None, str, list[float] | None]] = []
    labelled = select_file(connection, "queries/labelled_votes.sql")
    for key, part in labelled.group_by("criterion", maintain_order=True):
        criterion = str(key[0])
        items = part.select("benchmark", "item_id").unique(maintain_order=True)
        whole = part.filter(~pl.col("scores").list.contains(None))
        fitted = cross_fit(
            np.array(whole["scores"].to_list()).reshape(whole.height, -1),
            whole["label"].to_numpy(),
            np.array([*map(find_fold, whole["benchmark"], whole["item_id"])]),
            N_FOLDS,
            LEAST_LABELLED,
        )
        rows += [
            (*item, criterion, _round(fitted.by_fold[find_fold(*item)]))
            for item in items.iter_rows()
        ]
        rows.append((None, None, criterion, _round(fitted.overall)))
    return pl.DataFrame(rows, schema=_WEIGHTS, orient="row")


def find_fold(benchmark: str, item_id: str) -> int:
    """The fold of an item, which all its answers are in."""
    return int(digest_json([benchmark, item_id])[:8], 16) % N_FOLDS


def _round(weights: Floats | None) -> list[float] | None:
    return None if weights is None else [round(float(weight), _DIGITS) for weight in weights]
