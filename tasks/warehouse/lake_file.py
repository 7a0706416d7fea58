"""`lake.duckdb`: a small database beside the tables, with views over exactly the part files that
count, for DuckDB and the tools that open its files. It holds no rows.

It has the views and macros of `sql/`, but those that call a function which only judgelake's own
connections have, and the checks. What the views are is `tasks.warehouse.views`.
"""

import contextlib
import json
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import duckdb

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import digest_packages
from judgelake.tasks.errors import JudgelakeError, LakeError, redact, show_controls
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.processes import own_folder
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.lake.storage import remove_file, write_whole
from judgelake.tasks.warehouse.database import open_database
from judgelake.tasks.warehouse.functions import macro_texts
from judgelake.tasks.warehouse.views import (
    check_texts,
    quote_text,
    select_typed,
    strip_comments,
    template_file,
    view_texts,
)

FILE = "lake.duckdb"
_STORAGE = "v1.0.0"
"""The format of the file: every DuckDB since 1.0 reads it."""
_MAGIC, _MAGIC_AT = b"DUCK", 8
"""How a DuckDB file begins, after a checksum."""
_TRIES = 3
"""How often it is written where part files come or go meanwhile."""


def keep_lake_file(lake: Lake) -> None:
    """Rewrite the `lake.duckdb` of a lake on disk after its part files have changed. Where that
    fails, a line on standard error says so: the lake is whole without it.
    """
    if isinstance(lake.root, Path):
        try:
            write_lake_file(lake)
        except (JudgelakeError, duckdb.Error, OSError) as error:
            sys.stderr.write(
                redact(
                    f"judgelake: warning: {lake.root / FILE} is not up to date "
                    f"({show_controls(str(error))}); "
                    f"`judgelake catalog` writes it again\n"
                )
            )


def write_lake_file(lake: Lake) -> Snapshot:
    """Write `lake.duckdb`, whole or not at all, with paths relative to the lake, which may be moved
    then; returns the snapshot that it shows.

    Who reads the file meanwhile keeps the old one. Of several writers the last one writes again
    where its snapshot is no longer current.
    """
    if not isinstance(lake.root, Path):
        raise LakeError(
            f"{lake.root}: a bucket holds no {FILE}; expected a file on this machine; name it "
            f"with --output"
        )
    for _ in range(_TRIES):
        snapshot = lake.take_snapshot()
        write_whole(lake.root / FILE, make_database(snapshot, ""))
        remove_file(lake.root / f"{FILE}.wal")  # of the old file, where somebody wrote into that
        if lake.list_parts(*TABLES) == snapshot.list_parts(*TABLES):
            break
    return snapshot


def write_catalog(lake: Lake, file: Path) -> Snapshot:
    """Write such a database anywhere on this machine, with absolute paths, or s3:// ones of a
    bucket; returns the snapshot that it shows. Raises LakeError where `file` is something else.
    """
    if file.exists() and not _is_database(file):
        raise LakeError(
            f"{file}: is there and is no DuckDB file; expected a new file or one to replace; "
            f"name another"
        )
    snapshot = lake.take_snapshot()
    write_whole(file, make_database(snapshot, f"{lake.root}/"))
    return snapshot


def _is_database(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC


def make_database(snapshot: Snapshot, prefix: str) -> bytes:
    """The database's bytes; its views find a part file at `prefix` and its path in the lake."""
    with own_folder("catalog") as folder:
        file = Path(folder) / FILE
        columns = _start_file(file)
        with duckdb.connect(file) as connection:
            if isinstance(snapshot.root, Path):
                # by a link: a comma in the lake's own path would end it, this setting is a list
                root = Path(folder) / "lake"
                root.symlink_to(snapshot.root.absolute())
                connection.execute(f"set file_search_path = {quote_text(root)}")
            else:
                connection.register_filesystem(snapshot.root.fs)
            for statement in _read_parts(snapshot, prefix, columns):
                connection.execute(statement)
        return file.read_bytes()


Columns = Mapping[str, Sequence[tuple[str, str]]]
"""Table -> its columns, each with its type."""


def _start_file(file: Path) -> Columns:
    """Write a database whose tables have no part files. It is the same for one version of the SQL
    and of this module: kept beside the views of that version.
    """
    kept = template_file().with_suffix(f".{digest_packages(__name__)[:8]}.lake")
    columns: Columns
    with contextlib.suppress(OSError, ValueError):
        columns = json.loads(kept.with_suffix(".json").read_bytes())
        shutil.copyfile(kept, file)
        return columns
    columns = _write_empty(file)
    with contextlib.suppress(OSError, LakeError):
        write_whole(kept, file.read_bytes())
        write_whole(kept.with_suffix(".json"), json.dumps(columns).encode())
    return columns


def _write_empty(file: Path) -> Columns:
    with open_database() as connection:
        columns: Columns = dict(connection.execute(_COLUMNS).fetchall())
        for statement in _drop_others(connection):
            connection.execute(statement)
        for name in TABLES:
            nothing = select_typed(columns[name])
            connection.execute(f"create or replace view raw_{name} as {nothing}")
            connection.execute(f"drop view empty_{name}")
        connection.execute(f"attach {quote_text(file)} as made (storage_version '{_STORAGE}')")
        connection.execute("copy from database memory to made")
        connection.execute("detach made")
    return columns


def _drop_others(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """The statements that drop the checks, the statistics, which are functions of judgelake's own,
    and what calls them.
    """
    listing = "select distinct function_name, macro_definition from duckdb_functions()"
    with duckdb.connect() as plain:
        everywhere = dict(plain.execute(listing).fetchall())
    ours = dict(connection.execute(listing).fetchall())
    own = {name: text for name, text in ours.items() if name not in everywhere}
    macros = {name: text for name, text in own.items() if text is not None}
    texts = {**macros, **{name: strip_comments(text) for name, text in view_texts().items()}}
    lacking = {*own.keys() - macros, *macro_texts()}
    while more := {
        name
        for name in texts.keys() - lacking
        if _names_any(texts[name], lacking & own.keys(), lacking - own.keys())
    }:
        lacking |= more
    yield from (f"drop macro {name}" for name in sorted(lacking & macros.keys()))
    views = (lacking - own.keys()) | check_texts().keys()
    views |= {name for name in TABLES if f"stg_{name}" in lacking}
    yield from (f"drop view {name}" for name in sorted(views))


def _names_any(text: str, functions: Collection[str], views: Collection[str]) -> bool:
    """Whether a statement calls one of the functions or reads one of the views."""
    named = [*(rf"{re.escape(name)}\s*\(" for name in functions), *(rf"{name}\b" for name in views)]
    return bool(named) and re.search(rf"\b(?:{'|'.join(named)})", text) is not None


# contracts' columns stand in the views already: pandera takes a third of a second to derive them
_COLUMNS = """
select
    table_name[length('empty_') + 1:],
    list(row(column_name, data_type) order by column_index) as columns
from duckdb_columns()
where starts_with(table_name, 'empty_')
group by table_name
"""


def _read_parts(snapshot: Snapshot, prefix: str, columns: Columns) -> Iterator[str]:
    """The statements that make each `raw_<table>` read the snapshot's part files, where it has
    some.
    """
    options = "hive_partitioning = true, hive_types_autocast = false, union_by_name = true"
    for name, parts in snapshot.list_parts(*TABLES).items():
        if parts:
            named = ", ".join(f'"{column}"' for column, _ in columns[name])
            files = ", ".join(quote_text(f"{prefix}{part}") for part in parts)
            yield (
                f"create or replace view raw_{name} as select {named} from "
                f"({select_typed(columns[name])} union all by name select * from "
                f"read_parquet([{files}], {options}))"
            )
