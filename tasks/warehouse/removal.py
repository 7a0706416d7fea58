"""Forgetting a judge or a benchmark: which part files hold rows of it, and the lake without them.
Records of runs stay.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from judgelake.schemas.tables import TABLES, Table
from judgelake.tasks.errors import LakeError, SuiteError, nearest
from judgelake.tasks.lake.lake import Lake, append_rows, retire
from judgelake.tasks.lake.leases import COMPACTION, name_benchmark_leases, name_lease_of_judge
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file, select_frame

_KEPT = frozenset({"runs"})


@dataclass(frozen=True)
class Removal:
    """One part file that holds rows to forget: all of them, or `n_rows` of which `rest` stay."""

    table: Table
    name: str
    n_rows: int
    cost_usd: float
    rest: pl.DataFrame | None


@dataclass(frozen=True)
class Forgetting:
    """What would be removed, and the leases that the removal needs."""

    removals: tuple[Removal, ...]
    leases: tuple[str, ...]

    @property
    def tables(self) -> dict[str, tuple[int, int]]:
        """Table -> rows, part files."""
        counts: dict[str, tuple[int, int]] = {}
        for removal in self.removals:
            n_rows, n_files = counts.get(removal.table.name, (0, 0))
            counts[removal.table.name] = (n_rows + removal.n_rows, n_files + 1)
        return counts

    @property
    def cost_usd(self) -> float:
        """The cost of the replies among them, as far as prices were known."""
        return sum(removal.cost_usd for removal in self.removals)


def plan_judge(lake: Lake, name: str) -> Forgetting:
    """What is removed with a judge or metric, named by its alias or judge_id; raises
    SuiteError where that is not exactly one.
    """
    snapshot = lake.take_snapshot()
    judge_id, benchmarks = _find_judge(snapshot, name)
    leases = [name_lease_of_judge(judge_id), *(f"metrics-{benchmark}" for benchmark in benchmarks)]
    return Forgetting(
        tuple(_find_rows(snapshot, "judge_id", judge_id, None)), (*leases, COMPACTION)
    )


def plan_benchmark(lake: Lake, name: str) -> Forgetting:
    """What is removed with a benchmark: its inputs, every judge's and metric's rows on it, and
    the replies that only those rows use.
    """
    snapshot = lake.take_snapshot()
    connection = open_warehouse(snapshot, lazy=True)
    known = select_frame(connection, "select distinct benchmark from stg_ingests", "benchmarks")[
        "benchmark"
    ].to_list()
    if name not in known:
        raise SuiteError(
            f"--benchmark {name}: the lake has none of that name; {nearest(name, known)}"
        )
    digests = select_file(connection, "queries/benchmark_replies.sql", {"benchmark": name})
    judges = select_frame(
        connection,
        "select distinct judge_id from raw_cases where benchmark = $b",
        "its judges",
        {"b": name},
    )
    suites = select_frame(
        connection,
        "select distinct suite from raw_correlations where benchmark = $b",
        "its reports",
        {"b": name},
    )
    leases = [
        *name_benchmark_leases(name),
        *map(name_lease_of_judge, judges["judge_id"]),
        *(f"report-{suite}" for suite in suites["suite"]),
    ]
    return Forgetting(
        tuple(_find_rows(snapshot, "benchmark", name, digests)), (*leases, COMPACTION)
    )


def forget(lake: Lake, plan: Forgetting) -> None:
    """Take the rows out of the lake; readers see all of them or none, in all tables at once."""
    written: list[LakePath] = []
    for table in TABLES.values():
        rests = [
            removal.rest
            for removal in plan.removals
            if removal.table == table and removal.rest is not None
        ]
        if rests:
            written += append_rows(lake, table.name, pl.concat(rests))
    if plan.removals:
        retire(lake, [lake.root / removal.name for removal in plan.removals], written)


def _find_judge(snapshot: Snapshot, name: str) -> tuple[str, list[str]]:
    text = "select judge_id, any_value(kind) as kind, string_agg(distinct alias, ', ') as aliases, "
    text += (
        "list_distinct(flatten(list(benchmarks))) as benchmarks, max(registered_at) as at "
        "from raw_judges group by judge_id"
    )
    known = select_frame(open_warehouse(snapshot, lazy=True), text, "judges of the lake")
    matching = known.filter(
        (pl.col("judge_id") == name) | pl.col("aliases").str.split(", ").list.contains(name)
    ).sort("at")
    if matching.is_empty():
        names = sorted({alias for text in known["aliases"] for alias in text.split(", ")})
        raise SuiteError(
            f"--judge {name}: the lake has no judge or metric of that name; {nearest(name, names)}"
        )
    if matching.height > 1:
        registrations = ", ".join(
            f"{row['judge_id']} (registered {row['at']:%Y-%m-%d %H:%M})"
            for row in matching.iter_rows(named=True)
        )
        raise SuiteError(
            f"--judge {name}: {matching.height} judges of the lake had that name: {registrations}; "
            f"expected one; name it by its id"
        )
    row = matching.row(0, named=True)
    return row["judge_id"], row["benchmarks"] if row["kind"] == "metric" else []


def _find_rows(
    snapshot: Snapshot, column: str, value: str, digests: pl.DataFrame | None
) -> Iterator[Removal]:
    """The part files with rows whose `column` is `value`, and those with replies of `digests`."""
    tables = [table for table in TABLES.values() if table.name not in _KEPT]
    parts = snapshot.find_parts(*(table.name for table in tables))
    for table in tables:
        for file in parts[table.name]:
            split_rows = _split(table, file, column, value, digests)
            if split_rows is not None and split_rows[0].height:
                gone, rest = split_rows
                cost = float(gone["cost_usd"].sum() or 0.0) if "cost_usd" in gone.columns else 0.0
                yield Removal(
                    table,
                    file.relative_to(snapshot.mirror).as_posix(),
                    gone.height,
                    cost,
                    rest if rest.height else None,
                )


def _split(
    table: Table, file: Path, column: str, value: str, digests: pl.DataFrame | None
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """The rows of a part file that are removed, and those that stay; None where the table has no
    such rows.
    """
    values = dict(part.split("=", 1) for part in file.parts[-1 - len(table.partitions) : -1])
    of_replies = digests if table.name == "replies" else None
    if column in table.partitions and values[column] != value:
        return None
    if column not in table.polars_schema and of_replies is None:
        return None
    try:
        frame = pl.read_parquet(file, hive_partitioning=False)
    except pl.exceptions.PolarsError as error:
        raise LakeError(
            f"{file}: cannot be read ({error}); expected a part file; run `judgelake check`"
        ) from None
    empty = pl.DataFrame(schema=table.polars_schema)  # older files lack younger columns
    frame = pl.concat(
        [
            empty,
            frame.with_columns(**{name: pl.lit(constant) for name, constant in values.items()}),
        ],
        how="diagonal_relaxed",
    )
    if of_replies is not None:
        keys = ["judge_id", "request_digest"]
        return frame.join(of_replies, on=keys, how="semi"), frame.join(
            of_replies, on=keys, how="anti"
        )
    return frame.filter(pl.col(column) == value), frame.filter(
        (pl.col(column) != value).fill_null(value=True)
    )


def describe_tables(tables: dict[str, tuple[int, int]]) -> Sequence[str]:
    """A line a table, for a person."""
    return [
        f"  {name}: {n_rows:,} rows in {n_files:,} files"
        for name, (n_rows, n_files) in tables.items()
    ]
