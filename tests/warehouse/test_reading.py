"""What `judgelake sql` lets through: statements that read, in every form; and of more than 200
attempts to write, none.
"""

import hashlib

import duckdb
import pytest

from judgelake.flows.sql_answers import answer
from judgelake.tasks.errors import QueryError
from judgelake.tasks.lake.lake import Lake, append_rows, open_lake
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.warehouse import reading
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
BY_NAME = (
    "from destroy_external_resource('json_execute_serialized_sql', "
    "json_serialize_sql('with x as (copy (select 1 as a) to ''{lake}/lake.json'') select 1')::varchar)"
)
"""A function that calls another, whose name it is given."""
FUNCTIONS = [
    BY_NAME,
    f"select * from ({BY_NAME}) as x",
    f"with x as materialized ({BY_NAME}) from x",
    f"select (select count(*) from ({BY_NAME}))",
    f"pivot ({BY_NAME}) on success using count(*)",
    f"explain pivot ({BY_NAME}) on success using count(*)",
    f"explain analyze {BY_NAME}",
    f"explain {BY_NAME}",
    BY_NAME.replace("destroy", '"DESTROY').replace("_resource", '_resource"'),
    f"pivot ({BY_NAME.replace('(', '/* c */(', 1)}) on success using count(*)",
    "from create_external_resource('query', 'select 1')",
    "from register_external_resource('a', 'b')",
    "from deregister_external_resource('a')",
    "from checkpoint()",
    "from force_checkpoint()",
    "from enable_logging()",
    "from disable_logging()",
    "from enable_profiling()",
    "from truncate_duckdb_logs()",
    "from arrow_scan(1, 2, 3)",
    "from seq_scan('answers')",
    "from python_map_function(1)",
    "from read_duckdb('{lake}/other.db')",
    "select write_log('x')",
    "pivot (select write_log('x') as a) on a using count(*)",
    "select setval('s', 1)",
    "from pandas_scan(1)",
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
    "with x as materialized ({writing}) pivot answers on model using count(*)",
    "with x as not materialized ({writing}) pivot answers on model using count(*)",
    "with a as (select 1), x as ({writing}) pivot answers on model using count(*)",
    "with a as (select max(1)) {writing}; pivot answers on model using count(*)",
    "pivot ({writing}) on model using count(*)",
    "pivot (select 1 as b union all (with x as ({writing}) from x)) on b using count(*)",
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
    *FUNCTIONS,
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
        (BY_NAME, "destroy_external_resource()"),
        ("pivot (from checkpoint()) on success using count(*)", "checkpoint()"),
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
        "pivot (select 1 as use, 2 as call) on use using max(call)",
        "pivot (from range(3)) on range using count(*)",
        "from read_parquet('{lake}/answers/**/*.parquet')",
        "from glob('{lake}/*')",
        "from duckdb_functions()",
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
    lake: Lake, sealed: duckdb.DuckDBPyConnection, query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(sealed, query.replace("{lake}", str(lake.root)), "csv")
    assert capsys.readouterr().out != ""


def test_each_table_function_of_this_duckdb_is_judged() -> None:
    """A new version of DuckDB may bring functions: whether they read is decided here."""
    refused = {
        *("arrow_scan", "arrow_scan_dumb", "pandas_scan", "python_arrow_scan", "seq_scan"),
        *("python_map_function", "read_duckdb", "which_secret", "query"),
        *("json_execute_serialized_sql", "checkpoint", "force_checkpoint", "truncate_duckdb_logs"),
        *("enable_logging", "disable_logging", "enable_profiling", "disable_profiling"),
        *("register_external_resource", "register_external_resource_type"),
        *("create_external_resource", "deregister_external_resource", "destroy_external_resource"),
    }
    with duckdb.connect() as connection:
        found = connection.execute(
            "select distinct function_name from duckdb_functions() "
            "where function_type in ('table', 'table_macro')"
        ).fetchall()
    judged = {name for (name,) in found if reading.find_changing([name])}
    assert judged == refused
