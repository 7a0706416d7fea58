"""`lake.duckdb`: the rows of the warehouse in plain duckdb, also after part files were replaced, from
a moved lake, a bucket and another version of duckdb.
"""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from judgelake.flows.cli import make_parser
from judgelake.flows.compact_command import run_compact
from judgelake.flows.forget_command import run_forget
from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake, append_records, open_lake
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.warehouse import lake_file
from judgelake.tasks.warehouse.damage import find_damage
from judgelake.tasks.warehouse.functions import macro_texts
from judgelake.tasks.warehouse.lake_file import (
    FILE,
    keep_lake_file,
    make_database,
    write_catalog,
    write_lake_file,
)
from judgelake.tasks.warehouse.views import check_texts, read_folder, view_texts
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.bucket_server import Bucket
from tests.lakes import (
    answer,
    case_row,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    rating,
    verdict_row,
)

ITEMS = [item("1", category="colour"), item("2", references=("dog",))]
DIGESTS = [digest_of(ITEMS[0], "cat"), digest_of(ITEMS[1], "dog")]
A, B = "a" * 16, "b" * 16
COUNTS = " union all ".join(
    f"select '{prefix}{name}' as name, count(*) as n from {prefix}{name}"
    for name in TABLES
    for prefix in ("", "raw_")
)


def fill(lake: Lake) -> Lake:
    """Items and answers that were ingested twice; two judges with a failed and a second attempt."""
    for minute in (0, 1):
        ingest(
            lake,
            ITEMS,
            [answer("1", "cat"), answer("2", "dog")],
            [rating("1", 1.0)],
            minute=minute,
        )
    append_records(lake, "judges", [judge_row("one", A), judge_row("two", B)])
    for judge_id in (A, B):
        for item_id, digest in zip("12", DIGESTS, strict=True):
            append_records(lake, "cases", [case_row(judge_id, item_id, digest)])
            append_records(lake, "verdicts", [verdict_row(judge_id, item_id, digest, None, 3)])
            append_records(lake, "verdicts", [verdict_row(judge_id, item_id, digest, 3, 4)])
    return lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return fill(make_lake(tmp_path))


def read(file: Path, text: str, search: Path | None = None) -> dict[str, int]:
    """The rows of a statement of two columns, as a tool reads them that knows only duckdb."""
    with duckdb.connect(str(file), read_only=True) as connection:
        if search is not None:
            connection.execute("set file_search_path = $path", {"path": str(search)})
        return dict(connection.execute(text).fetchall())


def read_lake(folder: Path, text: str = COUNTS) -> dict[str, int]:
    return read(folder / FILE, text, folder)


def read_warehouse(lake: Lake, text: str = COUNTS) -> dict[str, int]:
    with open_warehouse(lake) as connection:
        return dict(connection.execute(text).fetchall())


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        ([], {}),
        (["compact"], {}),
        (["forget", "--judge", "one", "--yes"], {"cases": 2, "verdicts": 2, "raw_verdicts": 4}),
        (["forget", "--benchmark", "b", "--yes"], {"items": 0, "raw_items": 0, "verdicts": 0}),
    ],
    ids=lambda value: " ".join(value),
)
def test_it_counts_as_the_warehouse_does(
    lake: Lake, words: list[str], changed: dict[str, int]
) -> None:
    write_lake_file(lake)
    before = read_lake(lake.mirror)
    assert {name: before[name] for name in ("items", "raw_items", "verdicts", "raw_verdicts")} == {
        "items": 2,
        "raw_items": 4,
        "verdicts": 4,
        "raw_verdicts": 8,
    }
    if words:
        options = make_parser().parse_args([*words, "--lake", str(lake.root)])
        run = {"compact": run_compact, "forget": run_forget}[words[0]]
        assert run(options) == 0
    counted = read_lake(lake.mirror)
    assert counted == read_warehouse(lake)
    assert counted == {**before, **counted, **changed}
    if words == ["compact"]:
        assert counted == before
        assert len(list(lake.mirror.glob("verdicts/*/*.parquet"))) > len(
            lake.list_parts("verdicts")["verdicts"]
        )  # replaced files lie beside those that count


def test_it_has_the_views_of_the_warehouse_but_no_checks(lake: Lake) -> None:
    write_lake_file(lake)
    listed = "select view_name, 1 from duckdb_views() where not internal"
    raw = {f"raw_{name}" for name in TABLES}
    views = read_lake(lake.mirror, listed).keys()
    assert {"core_scores", "rpt_win_rate", *TABLES, *raw} <= views
    assert views <= {*view_texts(), *TABLES, *raw}
    text = "select judge || status, n from rpt_coverage"
    assert read_lake(lake.mirror, text) == read_warehouse(lake, text) == {"oneok": 2, "twook": 2}
    assert (lake.mirror / FILE).stat().st_size < 2_000_000
    assert [one for one in find_damage(lake) if FILE in one.file] == []


@pytest.mark.parametrize("damaged", ["", "{", None])
def test_what_is_kept_to_start_from_is_made_again_where_it_is_not_whole(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: str | None
) -> None:
    monkeypatch.setattr(lake_file, "template_file", lambda: tmp_path / "kept" / "views.duckdb")
    write_lake_file(lake)
    whole = read_lake(lake.mirror)
    assert whole == read_warehouse(lake)
    (columns,) = (tmp_path / "kept").glob("*.json")
    if damaged is None:
        columns.with_suffix(".lake").unlink()
    else:
        columns.write_text(damaged)
    write_lake_file(lake)
    assert read_lake(lake.mirror) == whole
    assert columns.with_suffix(".lake").exists()
    assert columns.stat().st_size > 1_000


def test_tables_and_columns_have_comments(lake: Lake) -> None:
    write_lake_file(lake)
    text = "select view_name, comment from duckdb_views() where not internal and comment is null"
    assert read_lake(lake.mirror, text).keys() == {f"raw_{name}" for name in TABLES}
    text = "select table_name || '.' || column_name, comment from duckdb_columns() where comment is not null"
    said = read_lake(lake.mirror, text)
    text = "select table_name || '.' || column_name, 1 from duckdb_columns()"
    contract = {
        f"{table.name}.{name}"
        for table in TABLES.values()
        for name in table.polars_schema
        if table.origin not in ("report", "collection")
    }
    assert sorted(contract & read_lake(lake.mirror, text).keys() - said.keys()) == []
    wide = {*read_folder("views")}
    unsaid = read_lake(lake.mirror, text).keys() - said.keys()
    assert [name for name in unsaid if name.partition(".")[0] in wide] == []
    assert str(said["scores_with_people.judge"]).startswith("the judge's score from 0 to 1")
    assert str(said["items.task"]) == (
        "kind of task: `vqa`, `caption`, `document`, `referring`, `instruction`"
    )


@pytest.fixture
def moved(lake: Lake, tmp_path: Path) -> Iterator[Path]:
    """A copy of the lake elsewhere that nobody may write to; the lake itself is gone."""
    write_lake_file(lake)
    folder = shutil.copytree(lake.mirror, tmp_path / "elsewhere" / "lake")
    shutil.rmtree(lake.mirror)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)


def test_a_moved_lake_reads_from_inside_and_by_its_search_path(
    moved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = read_lake(moved)
    assert counts["verdicts"] == 4
    with pytest.raises(duckdb.IOException, match="No files found"):
        read(moved / FILE, COUNTS)
    monkeypatch.chdir(moved)
    assert read(Path(FILE), COUNTS) == counts
    with duckdb.connect() as other:
        other.execute(f"attach '{FILE}' as lake (read_only)")
        text = "select status, n from lake.rpt_coverage where judge = 'one'"
        assert other.execute(text).fetchall() == [("ok", 2)]


def test_frames_of_polars_and_pandas_hold_current_rows_only(
    moved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(moved)
    with duckdb.connect(FILE, read_only=True) as connection:
        text = "select item_id, score_0_1 from verdicts"
        assert connection.sql(text).pl().height == len(connection.sql(text).df()) == 4
        assert pl.read_database(text, connection)["score_0_1"].to_list() == [1.0] * 4


@pytest.mark.parametrize("folder", ["it's run=3 größe a[1] wh*t?", "a, b"])
def test_a_lake_in_a_folder_of_an_odd_name(
    tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = fill(open_lake(tmp_path / folder / "lake", create=True))
    write_lake_file(lake)
    write_catalog(lake, tmp_path / "out" / "catalog.duckdb")
    text = "select benchmark, count(*) from answers group by all"
    assert read(tmp_path / "out" / "catalog.duckdb", text) == {"b": 2}
    if "," not in folder:  # commas part the places of a search path
        assert read_lake(lake.mirror, text) == {"b": 2}
    monkeypatch.chdir(lake.mirror)
    assert read(Path(FILE), text) == {"b": 2}


def test_a_catalog_replaces_nothing_but_a_database(lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("DUCK")
    with pytest.raises(LakeError, match=r"notes.txt: is there and is no DuckDB file"):
        write_catalog(lake, file)
    assert file.read_text() == "DUCK"
    file.unlink()
    for _ in range(2):
        write_catalog(lake, file)
    assert read(file, COUNTS)["verdicts"] == 4


def test_a_bucket_is_read_by_a_catalog_on_this_machine(bucket: Bucket, tmp_path: Path) -> None:
    lake = fill(open_lake(bucket.place("lake"), create=True))
    keep_lake_file(lake)
    with pytest.raises(LakeError, match=r"a bucket holds no lake.duckdb; .*--output"):
        write_lake_file(lake)
    write_catalog(lake, tmp_path / "c.duckdb")
    with duckdb.connect(str(tmp_path / "c.duckdb"), read_only=True) as connection:
        connection.register_filesystem(bucket.place("lake").fs)
        assert connection.execute("select count(*) from verdicts").fetchall() == [(4,)]


def test_readers_keep_the_file_that_they_opened(lake: Lake) -> None:
    write_lake_file(lake)
    text = "select 'n', count(*) from verdicts"
    with duckdb.connect(str(lake.mirror / FILE), read_only=True) as reader:
        reader.execute("set file_search_path = $path", {"path": str(lake.root)})
        append_records(lake, "verdicts", [verdict_row(A, "3", DIGESTS[0], 1)])
        (lake.mirror / f"{FILE}.wal").write_bytes(b"of the old file")
        write_lake_file(lake)
        assert reader.execute(text).fetchall() == [("n", 4)]
    assert read_lake(lake.mirror, text) == {"n": 5}


def test_rows_that_come_while_it_is_written_are_in_it(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots: list[Snapshot] = []

    def make(snapshot: Snapshot, prefix: str) -> bytes:
        snapshots.append(snapshot)
        if len(snapshots) == 1:
            append_records(lake, "verdicts", [verdict_row(A, "3", DIGESTS[0], 1)])
        return make_database(snapshot, prefix)

    monkeypatch.setattr(lake_file, "make_database", make)
    write_lake_file(lake)
    assert len(snapshots) == 2
    assert read_lake(lake.mirror)["verdicts"] == 5


def test_several_writers_leave_one_whole_file(lake: Lake) -> None:
    writers = [threading.Thread(target=keep_lake_file, args=[lake]) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert read_lake(lake.mirror)["verdicts"] == 4
    assert [path.name for path in lake.mirror.iterdir() if path.name.startswith(".")] == []


def test_a_lake_that_cannot_be_written_gets_a_warning_only(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake.mirror / FILE).mkdir()
    keep_lake_file(lake)
    assert capsys.readouterr().err.startswith(
        f"judgelake: warning: {lake.root}/{FILE} is not up to date ("
    )


def test_what_calls_functions_of_our_own_is_left_out(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain duckdb could not run it: the macro over the function, views over it, views over those."""
    views = {
        **view_texts(),
        "rpt_own": "-- tau_list( is named\nselect tau(n, n) as t from core_scores",
        "rpt_above": "select t from rpt_own",
        "rpt_named": "-- tau_list( is named\nselect tau from core_answers",
    }
    monkeypatch.setattr(lake_file, "view_texts", lambda: views)
    with open_warehouse(lake, lazy=True) as connection:
        connection.create_function(
            "tau_list", lambda a, b: a + b, ["DOUBLE[]", "DOUBLE[]"], "DOUBLE[]"
        )
        connection.execute("create macro tau(a, b) as tau_list(list(a), list(b))")
        dropped = {line.split()[-1] for line in lake_file._drop_others(connection)}
    assert dropped & {"tau", *views.keys() - view_texts().keys()} == {"tau", "rpt_own", "rpt_above"}
    assert dropped > check_texts().keys()
    assert dropped > macro_texts().keys()


OLDER = "1.3.2"
OLD_READER = f"""
import duckdb
with duckdb.connect("{FILE}", read_only=True) as connection:
    names = connection.execute("select view_name from duckdb_views() where not internal").fetchall()
    for (name,) in names:
        connection.execute(f"explain from {{name}}")
    for name, n in connection.execute({COUNTS!r}).fetchall():
        print(name, n)
"""


@pytest.mark.full
def test_an_older_duckdb_opens_it(moved: Path, tmp_path: Path) -> None:
    """Every view binds there, and every table has the same rows."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "old"], check=True)
    python = tmp_path / "old" / "bin" / "python"
    installing = [str(python), "-m", "pip", "install", "--quiet", f"duckdb=={OLDER}"]
    if subprocess.run(installing, check=False).returncode:
        pytest.skip(f"duckdb {OLDER} cannot be installed here: no package index is reached")
    done = subprocess.run(
        [python, "-c", OLD_READER],
        cwd=moved,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ},
    )
    assert done.returncode == 0, done.stderr
    counts = {name: int(n) for name, n in map(str.split, done.stdout.splitlines())}
    assert counts == read_lake(moved)
