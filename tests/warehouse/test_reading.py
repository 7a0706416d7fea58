"""What `judgelake sql` lets through: statements that read, in every form; and of 170 attempts to
write, none.
"""

import hashlib

import duckdb
import pytest

from judgelake.flows.sql_answers import answer
from judgelake.tasks.errors import QueryError
from judgelake.tasks.lake.lake import Lake, append_rows, open_lake
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.rows import make_frame

WRITING = [
    "copy (select 1) to '{lake}/lake.json'",
    "COPY answers TO '{lake}/stolen.parquet' (format parquet)",
    "copy (select 1 as a) to '{lake}/parts' (format parquet, partition_by (a))",
    "copy/**/(select 1)/**/to/**/'{lake}/stolen.csv'",
    "insert into answers select * from answers returning *",
    "insert into made values (1) returning *",
    "update answers set text = 'forged' returning *",
    "delete from answers returning *",
    "merge into answers using answers as b on true when matched then delete returning *",
]
HIDING = [
    "{writing}",
    "with x as ({writing}) select 1",
    "WITH x AS /* c */ ({writing}) FROM x",
    "with a as (select 1), x as materialized ({writing}) select * from a",
    "select * from (with x as ({writing}) select 1)",
    "values (1) union all (with x as ({writing}) select 1)",
    "with recursive r as (select 1 as i union all (with x as ({writing}) select i from r)) from r",
    "explain analyze {writing}",
    "-- c\n/* d */ explain\nanalyze {writing}",
    "EXPLAIN (ANALYZE, FORMAT json) with x as ({writing}) select 1",
    "select 1; {writing}",
    "select 1; with x as ({writing}) select 1",
    "with x as ({writing}) pivot answers on model using count(*)",
    "explain with x as ({writing}) pivot answers on model using count(*)",
    "pivot (with x as ({writing}) from x) on model using count(*)",
    "from query($${writing}$$)",
    "from query($$with x as ({writing}) select 1$$)",
    "describe ({writing})",
]
PLAIN = [
    "alter view answers rename to others",
    "analyze",
    "attach '{lake}/other.db'",
    "begin",
    "call enable_logging()",
    "call force_checkpoint()",
    "checkpoint",
    "create macro f() as 1",
    "create or replace view answers as select 1",
    "create schema s",
    "create table t as pivot answers on model using count(*)",
    "create table t as select 1",
    "create temp table answers as select 1",
    "deallocate p",
    "detach memory",
    "drop view answers",
    "execute p",
    "explain analyze create table t as select 1",
    "explain /* x */ analyze /* x */ copy (select 1) to '{lake}/stolen.csv'",
    "explain -- x\n analyze -- x\n copy (select 1) to '{lake}/stolen.csv'",
    "export database '{lake}/export'",
    "from JSON_EXECUTE_SERIALIZED_SQL(json_serialize_sql('select 1'))",
    "import database '{lake}'",
    "install json",
    "load json",
    "pragma enable_logging",
    "pragma enable_profiling",
    "pragma import_database('{lake}')",
    "pragma profiling_output='{lake}/profile.json'",
    "prepare p as copy (select 1) to '{lake}/stolen.csv'",
    "reset threads",
    "select * from \"query\"('select 1')",
    "set threads = 1",
    "set variable parts_answers = ['x']",
    "truncate answers",
    "use memory",
    "vacuum",
]
ATTEMPTS = [
    *(hiding.replace("{writing}", writing) for hiding in HIDING for writing in WRITING),
    *PLAIN,
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = open_lake(tmp_path_factory.mktemp("reading") / "lake", create=True)
    for name in ("ingests", "answers"):
        append_rows(lake, name, make_frame(name, {}))
    return lake


@pytest.fixture(scope="module")
def sealed(lake: Lake) -> duckdb.DuckDBPyConnection:
    """A connection as `judgelake sql` opens it, with a table that a row could be put into."""
    connection = open_warehouse(lake)
    connection.execute("create table made as select 1 as a")
    connection.execute("set lock_configuration = true")
    return connection


def read_all(folder: LakePath) -> dict[str, str]:
    """File -> digest of its bytes."""
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file()
    }


def list_views(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, ...]]:
    return connection.execute("select view_name, sql from duckdb_views() order by all").fetchall()


def test_no_attempt_to_write_succeeds(
    lake: Lake, sealed: duckdb.DuckDBPyConnection, capsys: pytest.CaptureFixture[str]
) -> None:
    """The connection may reach any file here: what stops a statement is that it is not let
    through.
    """
    files, views = read_all(lake.root), list_views(sealed)
    let_through = []
    for attempt in ATTEMPTS:
        try:
            answer(sealed, attempt.replace("{lake}", str(lake.root)), "csv")
        except QueryError:
            continue
        let_through.append(attempt)
    assert let_through == []
    assert len(ATTEMPTS) >= 150
    assert read_all(lake.root) == files
    assert list_views(sealed) == views
    assert sealed.execute("from made").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("insert into answers values (1)", "insert"),
        ("with x as (copy (select 1) to 'lake.json') select 1", "copy"),
        ("with x as (insert into made values (2) returning *) from x", "insert"),
        ("explain analyze copy (select 1) to 'x.csv'", "copy"),
        ("from query('select 1')", "query()"),
        ("pragma enable_profiling", "pragma enable_profiling"),
    ],
)
def test_the_error_names_what_is_not_allowed(
    sealed: duckdb.DuckDBPyConnection, statement: str, kind: str
) -> None:
    with pytest.raises(QueryError) as refused:
        answer(sealed, statement, "csv")
    assert str(refused.value) == (
        f"sql: {kind} statements are not allowed; expected SELECT; the lake is read-only"
    )


@pytest.mark.parametrize(
    "query",
    [
        "select 1",
        "from answers",
        "with a as (select 1) from a",
        "with recursive r as (select 1 as i union all select i + 1 from r where i < 3) from r",
        "select 1 union all by name select 2",
        "values (1), (2)",
        "table answers",
        "describe answers",
        "summarize answers",
        "show tables",
        "pragma version",
        "pragma table_info('answers')",
        "explain select 1",
        "explain analyze select 1",
        "-- c\nexplain (format json) select 1",
        "pivot answers on model using count(*)",
        "with p as (pivot answers on model using count(*)) from p",
        'pivot (select model as "copy", \'insert\' as b from answers) on "copy" using count(*)',
        "unpivot (select 1 as a, 2 as b) on a, b into name n value v",
        "select 'copy' as copied, 'insert into x' as text -- delete",
        "select columns(*) from answers",
        "select list_transform([1, 2], lambda x: x + 1)",
        "select json_serialize_sql('select 1')",
        "select count(*) filter (where model is not null) from answers group by all",
    ],
)
def test_statements_that_only_read_are_answered(
    sealed: duckdb.DuckDBPyConnection, query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(sealed, query, "csv")
    assert capsys.readouterr().out != ""
