"""`python -m tests.bench.bench_checks [verdicts]`: all checks over a lake of a million verdicts,
beside the core views that a report computes.

Of the lake: twenty models' answers to each item, one judge's verdict and one person's rating on
each, a tenth as many duels.
"""

import hashlib
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import content_digest
from judgelake.tasks.lake.lake import Lake, append_records, append_rows
from judgelake.tasks.warehouse.checks import run_checks
from judgelake.tasks.warehouse.views import check_texts
from judgelake.tasks.warehouse.warehouse import materialise, open_warehouse
from tests.lakes import (
    Row,
    answer,
    case_row,
    duel_row,
    ingest,
    item,
    judge_row,
    make_lake,
    rating,
    reply_row,
    verdict_row,
)

MODELS, CHUNK = 20, 5_000
JUDGE, PAIRS = "a" * 16, "b" * 16


def plant(lake: Lake, n_items: int) -> None:
    """Chunks of items; every tenth answer meets the next model's in a duel."""
    append_records(
        lake,
        "judges",
        [judge_row("lave", JUDGE, reading_signature="scale:1-3"), judge_row("chirp", PAIRS)],
    )
    for start in range(0, n_items, CHUNK):
        items = [
            item(f"i{number:07}", f"Q{number}", ("cat", "kitten"), image=f"{number // 3}.png")
            for number in range(start, min(start + CHUNK, n_items))
        ]
        answers = [
            answer(row["item_id"], f"answer {model}", f"m{model}")
            for row in items
            for model in range(MODELS)
        ]
        ratings = [rating(row["item_id"], 1.0, answer_id=str(row["answer_id"])) for row in answers]
        ingest(lake, items, answers, ratings, benchmark=f"b{start // CHUNK}")
        keys = [
            (
                row,
                [
                    content_digest(row["prompt"], row["references"], f"answer {model}")
                    for model in range(MODELS)
                ],
            )
            for row in items
        ]
        verdicts = [judged(row, digest, start) for row, digests in keys for digest in digests]
        duels = [
            paired(row, digests[at], digests[at + 1], start)
            for row, digests in keys
            for at in (0, 10)
        ]
        write(lake, "cases", [case_of(row) for row in (*verdicts, *duels)])
        write(lake, "verdicts", verdicts)
        write(lake, "duels", duels)
        write(
            lake,
            "replies",
            [reply_row(row["judge_id"], row["reply_digests"][0]) for row in (*verdicts, *duels)],
        )


def judged(row: Row, digest: str, start: int) -> Row:
    reply = hashlib.sha256(f"{digest}{row['item_id']}".encode()).hexdigest()
    shares = [
        {"level": str(level), "probability": share}
        for level, share in enumerate((0.1, 0.2, 0.7), start=1)
    ]
    own: Row = {
        "benchmark": f"b{start // CHUNK}",
        "reply_digests": [reply],
        "probabilities": shares,
        "captured_mass": 0.99,
    }
    return verdict_row(JUDGE, row["item_id"], digest, 1 + len(row["item_id"]) % 3, **own)


def paired(row: Row, digest: str, other: str, start: int) -> Row:
    reply = hashlib.sha256(f"{digest}{other}{row['item_id']}".encode()).hexdigest()
    return duel_row(
        PAIRS,
        row["item_id"],
        digest,
        other,
        "a",
        "a",
        benchmark=f"b{start // CHUNK}",
        reply_digests=[reply],
    )


def case_of(row: Row) -> Row:
    more = {name: row[name] for name in ("benchmark", "other_digest", "shown_first") if name in row}
    return case_row(row["judge_id"], row["item_id"], row["content_digest"], **more)


def write(lake: Lake, table: str, rows: list[Row]) -> None:
    append_rows(lake, table, pl.DataFrame(rows, schema=TABLES[table].polars_schema))


def clock(connection: duckdb.DuckDBPyConnection, name: str) -> float:
    start = time.perf_counter()
    connection.execute(f"select count(*) from {name}").fetchall()
    return time.perf_counter() - start


def main() -> None:
    n_verdicts = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        lake = make_lake(Path(folder))
        plant(lake, n_verdicts // MODELS)
        connection = open_warehouse(lake)
        for name in check_texts():
            print(f"{name:34} {clock(connection, name):6.2f} s")
        start = time.perf_counter()
        found = run_checks(connection)
        together = time.perf_counter() - start
        start = time.perf_counter()
        materialise(connection)
        peer = time.perf_counter() - start
        print(
            f"{n_verdicts:,} verdicts: all checks {together:.1f} s, {len(found)} found "
            f"something; core views of a report {peer:.1f} s"
        )


if __name__ == "__main__":
    main()
