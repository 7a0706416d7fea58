"""judgelake judges the judges of vision-language models; this is its Python API.

>>> import judgelake
>>> print(judgelake.plan("demo.yaml", "lake", limit=2))
judge ...
>>> end = judgelake.run("demo.yaml", "lake", limit=2, judges=["vqa_accuracy"])
>>> end.code
<ExitCode.DONE: 0>
>>> lake = judgelake.open("lake")
>>> query = "select model, mean from rpt_metrics where metric = $metric"
>>> lake.sql(query, metric="vqa_accuracy").polars().columns
['model', 'mean']
>>> lake.scores(judge="vqa_accuracy").lazy().select("score_0_1").collect().width
1
>>> lake.report("demo.yaml").name
'report.html'

Importing it loads nothing heavy: each function imports what it needs. `__all__` lists what is
public; the packages below (`judgelake.flows`, `.tasks`, `.schemas`, `.sql`) are internal.
"""

import functools
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelake.tasks.errors import (
    BackendError,
    ClusterError,
    ExitCode,
    JudgelakeError,
    LakeError,
    LeaseError,
    MetricError,
    QueryError,
    RunError,
    SourceError,
    SuiteError,
)

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow

    from judgelake.tasks.lake.storage import LakePath
    from judgelake.tasks.runs.summary import RunEnd

__all__ = [
    "BackendError",
    "ClusterError",
    "ExitCode",
    "JudgelakeError",
    "LakeError",
    "LeaseError",
    "MetricError",
    "OpenLake",
    "Plan",
    "QueryError",
    "QueryResult",
    "Rows",
    "RunError",
    "SourceError",
    "SuiteError",
    "open",
    "plan",
    "run",
]

# rows that are shown of a table
_SHOWN_ROWS = 10
_KNOWN = "select alias, judge, unnest(benchmarks) as benchmark from core_judges"


def run(
    suite: str | Path,
    lake: str | Path | None = None,
    *,
    limit: int | None = None,
    judges: str | Sequence[str] = (),
    benchmarks: str | Sequence[str] = (),
    retry: str | Sequence[str] = (),
    scheduler: str | None = None,
) -> "RunEnd":
    """Ingest, judge and report a suite, as `judgelake run` does; work that is already done is not
    repeated.

    The arguments are the command's options: only the first `limit` items of each benchmark, only
    these `judges` and `benchmarks`, also ask again what has a status of `retry`, on the workers of
    the Dask `scheduler`. `lake` is a folder or s3://bucket/prefix (None: JUDGELAKE_LAKE, else
    ./lake). It runs in a process of its own, whose lines appear on standard error; Ctrl-C or a
    notebook's stop button lets requests in flight finish.

    Returns the exit code, the lines that say how it ended, and the run's id. Raises RunError with
    code and lines where the code is not 0, another JudgelakeError, such as
    SuiteError, where it could not begin.

    >>> end = run("demo.yaml", "lake", limit=2, judges=["vqa_accuracy"])
    >>> print(end.lines[0])
    run ...: done in ... s; ...
    """
    from judgelake.flows.run_process import run_apart

    return run_apart(
        [
            "run",
            str(Path(suite).absolute()),
            f"--lake={_place(lake)}",
            *([f"--limit={_check_limit(limit)}"] if limit is not None else []),
            *([f"--scheduler={scheduler}"] if scheduler is not None else []),
            *(f"--judge={name}" for name in _names(judges)),
            *(f"--benchmark={name}" for name in _names(benchmarks)),
            *(f"--retry={name}" for name in _check_statuses(retry)),
        ]
    )


@dataclass(frozen=True)
class Plan:
    """The cost estimate of a run. `judges` and `total` have the counts, tokens, USD and seconds of
    `judgelake plan --format json`; `text` is its table.
    """

    judges: tuple[dict[str, Any], ...]
    total: dict[str, Any]
    n_scores: int
    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.text)}</pre>"


def plan(
    suite: str | Path,
    lake: str | Path | None = None,
    *,
    limit: int | None = None,
    judges: str | Sequence[str] = (),
    benchmarks: str | Sequence[str] = (),
) -> Plan:
    """The calls, tokens, money and time that `run` would need; sends no request, writes nothing.

    >>> plan("demo.yaml", "lake", limit=2).total["cost_usd"]
    0.0
    """
    from judgelake.flows.plan_command import as_plain, as_text, plan_suite
    from judgelake.tasks.suite.suite import Scope

    if limit is not None:
        _check_limit(limit)
    scope = Scope(limit, _names(judges), _names(benchmarks))
    wanted, estimate = plan_suite(Path(suite), _place(lake), scope)
    plain = as_plain(estimate, wanted)
    text = as_text(estimate, wanted)
    return Plan(tuple(plain["judges"]), plain["total"], estimate.n_scores, text)


class QueryResult:
    """The rows of a query. Shown as a table, in a terminal and in a notebook."""

    def __init__(self, table: "pyarrow.Table") -> None:
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def arrow(self) -> "pyarrow.Table":
        """As an Arrow table."""
        return self._table

    def polars(self) -> "polars.DataFrame":
        """As a polars frame."""
        import polars as pl

        return pl.DataFrame(self._table)

    def pandas(self) -> "pandas.DataFrame":
        """As a pandas frame; raises QueryError where pandas is not installed."""
        try:
            import pandas  # noqa: F401  # pyarrow's own error names no remedy
        except ImportError:
            raise QueryError(
                "sql: pandas() needs the package pandas, which is not installed here; expected "
                "pandas; `pip install pandas`, or use polars() or arrow()"
            ) from None
        return self._table.to_pandas()

    def __repr__(self) -> str:
        return str(self.polars())

    def _repr_html_(self) -> str:
        return self.polars()._repr_html_()


class Rows(QueryResult):
    """The rows of a table, read when they are first asked for. They are those of the moment when
    `table` or `scores` was called, for at least an hour, even where a run replaces them meanwhile.
    """

    def __init__(self, relation: "duckdb.DuckDBPyRelation") -> None:
        self._relation = relation

    @functools.cached_property
    def _table(self) -> "pyarrow.Table":
        return self._relation.to_arrow_table()

    def lazy(self) -> "polars.LazyFrame":
        """As a polars LazyFrame: columns and rows that it leaves out are not read.

        >>> answers = open("lake").table("answers").lazy()
        >>> answers.filter(style="short").select("text").collect().columns
        ['text']
        """
        frame: polars.LazyFrame = self._relation.pl(lazy=True)
        return frame

    def __len__(self) -> int:
        return int(self._relation.count("*").fetchall()[0][0])

    def __repr__(self) -> str:
        return f"{len(self):,} rows; the first ones:\n{self._first!r}"

    def _repr_html_(self) -> str:
        return f"<p>{len(self):,} rows; the first ones:</p>{self._first._repr_html_()}"

    @property
    def _first(self) -> QueryResult:
        return QueryResult(self._relation.limit(_SHOWN_ROWS).to_arrow_table())


@dataclass(frozen=True)
class OpenLake:
    """A lake to query; each query and report sees the lake as it is at that moment. `open` makes
    one.
    """

    root: "LakePath"

    def sql(self, query: str, /, **parameters: object) -> QueryResult:
        """The rows of one SELECT over the tables and the `core_*` and `rpt_*` views; `$name` in it
        stands for the parameter of that name.

        Raises QueryError where the statement fails or would write.

        >>> lake = open("lake")
        >>> items = lake.sql("from items where benchmark = $name limit 2", name="demo")
        >>> items.polars().height
        2
        """
        from judgelake.flows.sql_answers import select_table
        from judgelake.tasks.lake.lake import open_lake
        from judgelake.tasks.warehouse.warehouse import open_warehouse

        with open_warehouse(open_lake(self.root), sealed=True, lazy=True) as connection:
            return QueryResult(select_table(connection, query, parameters))

    def table(self, name: str) -> Rows:
        """The current rows of a table, or the rows of a view; raises QueryError for a name that
        `tables` does not list.

        >>> open("lake").table("items").polars().columns[:2]
        ['benchmark', 'item_id']
        """
        from judgelake.tasks.lake.lake import open_lake
        from judgelake.tasks.reports.live import make_figures
        from judgelake.tasks.warehouse.warehouse import open_warehouse, view_rows

        _check_known("table", [name], self.tables().polars()["name"])
        connection = open_warehouse(open_lake(self.root), lazy=True, alone=True)
        make_figures(connection, name)
        return Rows(view_rows(connection, name))

    def scores(
        self, *, judge: str | Sequence[str] = (), benchmark: str | Sequence[str] = ()
    ) -> Rows:
        """What judges and metrics say of answers: the view `core_scores`, one row per judge ×
        answer × criterion × sample that was wanted. `status` says why a score is missing.

        Only of these judges, by their name in the suite or in reports, and these benchmarks; where
        none are given, of all. Raises QueryError for a name that the lake does not have.

        >>> scores = open("lake").scores(judge="vqa_accuracy", benchmark="demo")
        >>> scores.polars()["alias"].unique().to_list()
        ['vqa_accuracy']
        """
        from duckdb import ColumnExpression, ConstantExpression

        from judgelake.tasks.lake.lake import open_lake
        from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame, view_rows

        connection = open_warehouse(open_lake(self.root), lazy=True, alone=True)
        rows = view_rows(connection, "core_scores")
        known = select_frame(connection, _KNOWN, "judges of the lake")
        if judges := _names(judge):
            _check_known("judge", judges, {*known["alias"], *known["judge"]})
            values = [ConstantExpression(name) for name in judges]
            rows = rows.filter(
                ColumnExpression("alias").isin(*values) | ColumnExpression("judge").isin(*values)
            )
        if benchmarks := _names(benchmark):
            _check_known("benchmark", benchmarks, {*known["benchmark"]})
            values = [ConstantExpression(name) for name in benchmarks]
            rows = rows.filter(ColumnExpression("benchmark").isin(*values))
        return Rows(rows)

    def tables(self) -> QueryResult:
        """The tables and views that `sql` may name: kind, name and what a row of it is.

        >>> "rpt_metrics" in open("lake").tables().polars()["name"]
        True
        """
        import pyarrow as pa

        from judgelake.tasks.warehouse.catalog import list_all

        listed = [entry for entry in list_all() if entry.kind in ("table", "view")]
        rows = [{"kind": entry.kind, "name": entry.name, "says": entry.says} for entry in listed]
        return QueryResult(pa.Table.from_pylist(rows))

    def report(self, suite: str | Path) -> "LakePath":
        """The page of a suite's report; built in this process where answers, verdicts or the suite
        have changed since the last report.

        >>> open("lake").report("demo.yaml").exists()
        True
        """
        from judgelake.flows.run_left import report_here
        from judgelake.tasks.lake.lake import open_lake
        from judgelake.tasks.suite.suite import read_suite

        return report_here(open_lake(self.root), read_suite(Path(suite)))


def open(lake: str | Path | None = None) -> OpenLake:  # noqa: A001  # read as judgelake.open
    """A lake to query: a folder or s3://bucket/prefix (None: JUDGELAKE_LAKE, else ./lake); raises
    LakeError where there is none.

    >>> open("lake").sql("select count(*) > 0 as there from answers").polars().item()
    True
    """
    from judgelake.tasks.lake.lake import open_lake

    return OpenLake(open_lake(_place(lake)).root)


def _place(lake: str | Path | None) -> str:
    return str(lake if lake is not None else os.environ.get("JUDGELAKE_LAKE", "lake"))


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _check_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise QueryError for the first of `names` that is not among `known`."""
    from judgelake.tasks.errors import nearest

    for name in names:
        if name not in known:
            raise QueryError(
                f"{what} {name!r}: the lake has none of that name; {nearest(name, known)}"
            )


def _check_limit(limit: int) -> int:
    if limit < 1:
        raise SuiteError(f"limit={limit!r}; expected a whole number from 1, or None; correct it")
    return limit


def _check_statuses(retry: str | Iterable[str]) -> tuple[str, ...]:
    from judgelake.flows.command_options import RETRIED

    for status in _names(retry):
        if status not in RETRIED:
            raise SuiteError(f"retry={status!r}; expected one of {', '.join(RETRIED)}; correct it")
    return _names(retry)
