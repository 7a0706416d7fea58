"""Formats of the lake: an old one, kept as it was written then, is brought to today's and goes on being used."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.tables import TABLES
from tasks import migrations, shortening
from tasks.errors import LakeError
from tasks.ingestion import ingest_benchmark
from tasks.lake import FORMAT, Lake, open_lake
from tasks.manifest import read_recorded
from tasks.planning import find_work, register_judges
from tasks.short_digests import list_digests, shorten_frame, shorten_values
from tasks.suite import Scope, read_suite
from tests.flows.harness import shell_in
from tests.lakes import Row, query

KEPT = Path(__file__).parent / "data" / "lake_format_1"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of a lake of format 1, made by the program of then: three questions, two models, two annotators, one judge."""
    return Path(shutil.copytree(KEPT / "kept_lake", tmp_path / "lake"))


def read_format(root: Path) -> object:
    return json.loads((root / "lake.json").read_text())


def list_files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*.parquet")}


def test_a_writer_brings_it_to_todays_format_and_names_its_parts(old: Path) -> None:
    before = list_files(old)
    assert read_format(old) == {"format": 1}
    open_lake(old, create=True)
    assert read_format(old) == {"format": FORMAT} == {"format": 3}
    lake = open_lake(old)
    now = {name for names in lake.list_parts(*TABLES).values() for name in names}
    assert {name.partition("/")[0] for name in before - now} == {
        "answers",
        "cases",
        "verdicts",
        "metric_scores",
    }  # those with digests
    assert read_recorded(old) == frozenset(now)


def read_rows(lake: Lake, table: str) -> list[Row]:
    return query(lake, f"select * from raw_{table} order by all")


def test_digests_are_cut_and_nothing_else_changes(old: Path) -> None:
    """Readers of the old lake, of one half brought to today's format, and of the new one read the same rows."""
    digested = [name for name in TABLES if list_digests(TABLES[name])]
    long = {part: pq.ParquetFile(old / part).read() for part in list_files(old) if part.partition("/")[0] in digested}
    assert {len(value) for rows in long.values() for value in rows["content_digest"].to_pylist()} == {64}
    before = {name: read_rows(open_lake(old), name) for name in TABLES}
    half = sorted(part for part in long if part.startswith("verdicts/"))
    shorten_some(open_lake(old), "verdicts")
    assert read_format(old) == {"format": 1}
    assert not set(half) & set(open_lake(old).list_parts("verdicts")["verdicts"])
    assert {name: read_rows(open_lake(old), name) for name in TABLES} == before
    lake = open_lake(old, create=True)
    assert {name: read_rows(lake, name) for name in TABLES} == before
    assert {len(str(row["content_digest"])) for name in digested for row in before[name]} == {16}
    for name in digested:
        for part in lake.part_files(name):
            whole = pq.ParquetFile(part).read()
            (own,) = [rows for rows in long.values() if rows.schema.equals(whole.schema) and rows.num_rows == whole.num_rows]
            for column in whole.column_names:
                texts = own[column].to_pylist()
                assert whole[column].to_pylist() == (
                    [text[:16] for text in texts] if column in list_digests(TABLES[name]) else texts
                )


def shorten_some(lake: Lake, table: str) -> None:
    """What a migration has done that was killed after this table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shortening, "TABLES", {table: TABLES[table]})
        shortening.shorten_digests(lake)


def test_killed_while_it_writes_nothing_counts_twice(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dead after the note of what is replaced, before the new file is there: the old one counts until the next writer comes."""
    before = {name: read_rows(open_lake(old), name) for name in TABLES}
    with monkeypatch.context() as broken:
        broken.setattr(shutil, "move", die)
        with pytest.raises(Killed):
            open_lake(old, create=True)
    assert read_format(old) == {"format": 2}
    assert list((old / "_retired").iterdir())
    assert {name: read_rows(open_lake(old), name) for name in TABLES} == before
    assert {name: read_rows(open_lake(old, create=True), name) for name in TABLES} == before
    assert read_format(old) == {"format": 3}


def test_two_writers_at_once_bring_it_to_todays_format_one_after_the_other(old: Path) -> None:
    before = {name: read_rows(open_lake(old), name) for name in TABLES}
    with ThreadPoolExecutor(2) as threads:
        lakes = list(threads.map(lambda _: open_lake(old, create=True), range(2)))
    assert read_format(old) == {"format": 3}
    assert {name: read_rows(lakes[0], name) for name in TABLES} == before


def test_a_damaged_file_is_not_rewritten(old: Path) -> None:
    """A rewritten file would have a digest that fits, and nobody would find the damage any more."""
    (part,) = (old / "verdicts").rglob("*.parquet")
    data = bytearray(part.read_bytes())
    data[20] ^= 1
    part.write_bytes(data)
    with pytest.raises(LakeError, match=r"cannot be brought to format 3: .*it is damaged; see judgelake check"):
        open_lake(old, create=True)
    assert read_format(old) == {"format": 2}
    assert part.read_bytes() == bytes(data)


@given(st.lists(st.none() | st.text("0123456789abcdef", min_size=62, max_size=66) | st.text(max_size=3)))
def test_only_digests_of_64_digits_are_cut(texts: list[str | None]) -> None:
    expected = [text[:16] if text is not None and len(text) == 64 else text for text in texts]
    assert shorten_values(pa.chunked_array([texts], pa.string())).to_pylist() == expected
    rows = pl.DataFrame({"content_digest": texts}, schema={"content_digest": pl.String})
    assert shorten_frame(rows, TABLES["answers"])["content_digest"].to_list() == expected


class Killed(BaseException):
    """The process ended here."""


def die(*_: object) -> None:
    raise Killed


def test_a_reader_leaves_it_as_it_is(old: Path) -> None:
    """Verdicts of then, read now: robin is right on q1 and q2, wren on q2 and q3 (see the README of the kept lake)."""
    lake = open_lake(old)
    assert read_format(old) == {"format": 1}
    told = "select item_id, model, score_0_1 from core_scores where judge = 'lave' order by item_id, model"
    assert [(row["item_id"], row["model"], row["score_0_1"]) for row in query(lake, told)] == [
        ("q1", "robin", 1.0),
        ("q1", "wren", 0.0),
        ("q2", "robin", 1.0),
        ("q2", "wren", 1.0),
        ("q3", "robin", 0.0),
        ("q3", "wren", 1.0),
    ]


def test_columns_that_have_come_since_are_null(old: Path) -> None:
    lake = open_lake(old)
    (runs,) = query(lake, "select count(*) as n, count(cost_usd) as priced, any_value(n_calls) as calls from stg_runs")
    assert runs == {"n": 1, "priced": 0, "calls": 6}


def test_every_table_of_then_can_be_read(old: Path) -> None:
    lake = open_lake(old)
    counts = {
        table.name: query(lake, f"select count(*) as n from raw_{table.name}")[0]["n"]
        for table in old.iterdir()
        if table.is_dir()
    }
    assert len(counts) == 15
    assert all(counts.values()), counts


def test_the_suite_goes_on_without_a_call(old: Path, tmp_path: Path) -> None:
    """The answers are read anew, for their file lies elsewhere now; each of them has its verdict and its score all the same."""
    shutil.copytree(KEPT, tmp_path / "suite", ignore=shutil.ignore_patterns("kept_lake"))
    suite = read_suite(tmp_path / "suite" / "suite.yaml")
    lake = open_lake(old, create=True)
    done = ingest_benchmark(lake, suite.benchmarks["birds"], tmp_path, None)
    assert (done.n_items, done.n_answers, done.skipped) == (3, 6, False)
    register_judges(lake, suite)
    assert [(work.n_pending, work.n_wanted) for work in find_work(lake, suite, Scope())] == [(0, 6), (0, 6)]


def test_killed_in_the_middle_it_goes_on(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    monkeypatch.setattr(migrations, "_STEPS", {1: lambda _: steps.append(1), 2: die})
    with pytest.raises(Killed):
        migrations.migrate(old, 1, 3)
    assert read_format(old) == {"format": 2}
    monkeypatch.setattr(migrations, "_STEPS", {1: die, 2: lambda _: steps.append(2)})
    migrations.migrate(old, 2, 3)
    assert (steps, read_format(old)) == ([1, 2], {"format": 3})
    with monkeypatch.context() as broken:
        (old / "lake.json").write_text('{"format": 1}')
        broken.setattr(migrations, "_STEPS", {1: lambda _: steps.append(1)})
        broken.setattr(migrations, "write_marker", die)
        with pytest.raises(Killed):
            migrations.migrate(old, 1, 2)
    assert read_format(old) == {"format": 1}  # the step is taken again


@pytest.mark.full
def test_the_command_runs_the_suite_of_then_without_a_call(old: Path, tmp_path: Path) -> None:
    shutil.copytree(KEPT, tmp_path / "suite", ignore=shutil.ignore_patterns("kept_lake"))
    with shell_in(tmp_path) as shell:
        code, output = shell.run("run", str(tmp_path / "suite" / "suite.yaml"), "--lake", str(old))
    assert code == 0, output
    assert " 0 calls, 0 replies reused, 0 verdicts" in output
