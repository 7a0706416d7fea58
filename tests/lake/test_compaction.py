"""Merging part files: the rows that readers see stay the same, at every moment and wherever it is
killed.
"""

import argparse
import contextlib
import errno
import functools
import hashlib
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelake.flows.compact_command import run_compact
from judgelake.schemas.tables import TABLES, Table
from judgelake.tasks.errors import LakeError, LeaseError, SuiteError
from judgelake.tasks.lake import compaction
from judgelake.tasks.lake.compaction import Compacted, compact_lake, merge_files
from judgelake.tasks.lake.lake import Lake, append_records, append_rows, retire
from judgelake.tasks.lake.leases import Surroundings, hold_leases
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame
from tests.conftest import CHECKOUT
from tests.dying_compaction import shrink_files, watch_steps
from tests.flows.harness import HANG_S
from tests.lakes import Row, at, judge_row, make_lake, reply_row, verdict_row
from tests.rows import make_frame

A, B = "a" * 16, "b" * 16


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Three small files of one judge's verdicts, with a repeated row, two of another's, and one
    file of replies.
    """
    lake = make_lake(tmp_path)
    for minute in range(3):
        rows = [
            verdict_row(A, f"i{number}", "d" * 16, 1 + number % 3, minute) for number in (5, 1, 3)
        ]
        append_records(lake, "verdicts", [*rows, rows[0]])
    for minute in range(2):
        append_records(lake, "verdicts", [verdict_row(B, "i1", "d" * 16, None, minute)])
    append_records(lake, "replies", [reply_row(A, "1")])
    return lake


def compact(lake: Lake, **options: Sequence[str]) -> dict[str, Compacted]:
    return {done.table: done for done in compact_lake(lake, "me", lambda _: None, **options)}


def read_rows(lake: Lake, table: str = "verdicts") -> Counter[str]:
    """Every row that readers see, with its partition, and how often; read without duckdb."""
    parts = lake.find_parts(table)[table]
    return Counter(
        f"{part.parent.name} {row!r}"
        for part in parts
        for row in pq.read_table(part, partitioning=None).to_pylist()
    )


def count_files(lake: Lake, table: str = "verdicts") -> dict[str, int]:
    return dict(Counter(name.split("/")[1] for name in lake.list_parts(table)[table]))


def test_small_files_become_one_a_partition_with_every_row(lake: Lake) -> None:
    rows = read_rows(lake)
    assert max(rows.values()) == 2  # a repeated row stays repeated
    done = compact(lake)
    assert read_rows(lake) == rows
    assert count_files(lake) == {f"judge_id={A}": 1, f"judge_id={B}": 1}
    assert (done["verdicts"].before.n_files, done["verdicts"].after.n_files) == (5, 2)
    assert done["verdicts"].after.n_bytes == sum(
        part.stat().st_size for part in lake.part_files("verdicts")
    )
    assert done["replies"].before == done["replies"].after
    assert not any(one.left_alone for one in done.values())


def test_a_merged_file_is_sorted_named_by_its_content_and_of_the_contracts_columns(
    lake: Lake,
) -> None:
    compact(lake, values=[A])
    (part,) = lake.part_files(f"verdicts/judge_id={A}")
    assert hashlib.sha256(part.read_bytes()).hexdigest() == part.stem
    rows = pq.read_table(part, partitioning=None)
    assert rows.schema.equals(TABLES["verdicts"].arrow_schema)
    keys = rows.select(TABLES["verdicts"].sort).to_pylist()
    assert keys == sorted(keys, key=lambda key: tuple(key.values()))


def test_only_what_is_named(lake: Lake) -> None:
    append_records(lake, "replies", [reply_row(A, "2")])
    assert list(compact(lake, tables=["verdicts"], values=[B])) == ["verdicts"]
    assert count_files(lake) == {f"judge_id={A}": 3, f"judge_id={B}": 1}
    assert count_files(lake, "replies") == {f"judge_id={A}": 2}


def test_a_good_file_is_left_alone_and_a_second_time_changes_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact(lake)
    parts = lake.part_files("verdicts")
    compact(lake)
    assert lake.part_files("verdicts") == parts
    append_records(lake, "verdicts", [verdict_row(A, "i9", "d" * 16, 1)])
    with monkeypatch.context() as smaller:
        smaller.setattr(compaction, "_SMALL_ROWS", 6)  # the merged file of 12 rows has enough
        compact(lake)
        assert set(parts) < set(lake.part_files("verdicts"))
    compact(lake)
    assert count_files(lake) == {f"judge_id={A}": 1, f"judge_id={B}": 1}


def test_many_rows_become_several_files_one_after_the_other(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """13 rows of A in row groups of 4 and files of 8: 8 and 5 rows."""
    append_records(lake, "verdicts", [verdict_row(A, "i9", "d" * 16, 1)])
    rows = read_rows(lake)
    shrink_files(monkeypatch.setattr, 8)
    compact(lake, values=[A])
    assert read_rows(lake) == rows
    tables = [
        pq.read_table(part, partitioning=None) for part in lake.part_files(f"verdicts/judge_id={A}")
    ]
    spans = sorted(
        (min(table["item_id"].to_pylist()), max(table["item_id"].to_pylist()), len(table))
        for table in tables
    )
    assert len(spans) == 2
    assert sorted(span[2] for span in spans) == [5, 8]
    assert spans[0][1] <= spans[1][0]


def test_readers_see_the_same_rows_at_every_step(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = read_rows(lake)
    seen: list[Counter[str]] = []
    with monkeypatch.context() as watched:
        shrink_files(watched.setattr, 4)  # of A three new files, which appear one after the other
        watch_steps(watched.setattr, lambda: seen.append(read_rows(lake)))
        compact(lake, tables=["verdicts"])
    assert count_files(lake) == {f"judge_id={A}": 3, f"judge_id={B}": 1}
    assert len(seen) > 20
    assert all(one == rows for one in seen)


class Killed(BaseException):
    """What `kill -9` is to a program; no step on files is taken after it."""


def halve(table: Table, files: Sequence[Path], folder: Path) -> list[Path]:
    """Stands in for the merge, which is slow and takes no step that lasts: two files of half the
    rows each.
    """
    rows = pa.concat_tables(pq.read_table(file, partitioning=None) for file in files)
    written = []
    for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
        pq.write_table(half.cast(compaction._stamp(table)), folder / "half")
        written.append(compaction._name_by_content(folder / "half"))
    return written


def compact_and_die(lake: Lake, n_steps: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a compaction came to its end, of which no step from `n_steps` on is taken; whoever
    held a lease before it is gone.
    """
    left = [n_steps]

    def count() -> None:
        if not left[0]:
            raise Killed
        left[0] -= 1

    alone = Surroundings(pid=n_steps, find_birth=lambda pid: 1 if pid == n_steps else None)
    with monkeypatch.context() as dying:
        dying.setattr(compaction, "hold_leases", functools.partial(hold_leases, around=alone))
        dying.setattr(compaction, "merge_files", halve)
        watch_steps(dying.setattr, count)
        with contextlib.suppress(Killed):
            compact(lake, tables=["verdicts"])
            return True
    return False


def test_killed_at_any_step_it_harms_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before its first step, then before its second, ... until one comes to its end; rows
    come in between.
    """
    rows, n_steps = read_rows(lake), 0
    while not compact_and_die(lake, n_steps, monkeypatch):
        assert read_rows(lake) == rows, f"after {n_steps} steps"
        n_steps += 1
        if n_steps % 5 == 0:
            append_records(lake, "verdicts", [verdict_row(B, f"more{n_steps}", "d" * 16, 1)])
            rows = read_rows(lake)
    assert read_rows(lake) == rows
    assert n_steps > 20
    assert count_files(lake) == {f"judge_id={A}": 2, f"judge_id={B}": 2}
    compact(lake)
    assert read_rows(lake) == rows
    assert count_files(lake) == {f"judge_id={A}": 1, f"judge_id={B}": 1}


@pytest.mark.full
def test_kill_nine_at_every_step(lake: Lake) -> None:
    rows, n_steps, ended = read_rows(lake), 0, -signal.SIGKILL
    while ended == -signal.SIGKILL:
        words = [sys.executable, "-m", "tests.dying_compaction", str(lake.root), str(n_steps)]
        ended = subprocess.run(words, cwd=CHECKOUT, timeout=HANG_S, check=False).returncode
        assert read_rows(lake) == rows, f"after {n_steps} steps"
        n_steps += 1
    assert (ended, n_steps > 20) == (0, True)


def test_a_view_that_was_opened_before_still_reads(lake: Lake) -> None:
    with open_warehouse(lake, lazy=True) as connection:
        assert select_frame(connection, "select count(*) from raw_verdicts", "before").item() == 14
        compact(lake)
        assert select_frame(connection, "select count(*) from raw_verdicts", "after").item() == 14


def test_a_partition_that_another_holds_is_left_alone_and_said(lake: Lake) -> None:
    with hold_leases(lake, [f"judge-{A}"], "run-1", 0.0, print):
        done = compact(lake)
    assert count_files(lake) == {f"judge_id={A}": 3, f"judge_id={B}": 1}
    (said,) = done["verdicts"].left_alone
    assert said.startswith(f"verdicts/judge_id={A}: left alone: judge-{A}: run-1 (host ")


def test_two_compactions_at_once(lake: Lake) -> None:
    with (
        hold_leases(lake, ["compact"], "other", 0.0, print),
        pytest.raises(LeaseError, match=r"^compact: other "),
    ):
        compact(lake)


def test_what_was_replaced_meanwhile_is_not_merged(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def merge_late(table: Table, files: Sequence[Path], folder: Path) -> list[Path]:
        retire(lake, files[:1])  # by a run that took the lease over
        return merge_files(table, files, folder)

    monkeypatch.setattr(compaction, "merge_files", merge_late)
    done = compact(lake, values=[B])
    assert done["verdicts"].left_alone == [
        f"verdicts/judge_id={B}: left alone: another run took it over meanwhile"
    ]
    assert count_files(lake) == {f"judge_id={A}": 3, f"judge_id={B}": 1}


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_damage_is_not_merged_away(lake: Lake, damage: str) -> None:
    part = lake.part_files(f"verdicts/judge_id={B}")[0]
    data = bytearray(part.read_bytes())
    data[40] ^= 1
    part.write_bytes({"cut": bytes(data[:-9]), "flipped": bytes(data), "empty": b""}[damage])
    (said,) = compact(lake)["verdicts"].left_alone
    assert said.startswith(f"verdicts/judge_id={B}: left alone: {part.name}: ")
    assert said.endswith("; see judgelake check")
    assert count_files(lake) == {f"judge_id={A}": 1, f"judge_id={B}": 2}


def write_part(lake: Lake, place: str, rows: pa.Table) -> Path:
    """A part file as another program version may have written it."""
    file = lake.mirror / place / "new"
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, file)
    return file.rename(file.with_name(f"{hashlib.sha256(file.read_bytes()).hexdigest()}.parquet"))


def test_columns_that_older_files_lack_are_null(lake: Lake) -> None:
    rows = pq.read_table(lake.part_files("replies")[0], partitioning=None)
    for lacking in (
        "cost_usd",
        "cached_tokens",
    ):  # both files lack the cost, one of them the tokens too
        rows = rows.drop([lacking])
        write_part(lake, f"replies/judge_id={B}", rows)
    compact(lake, tables=["replies"])
    (part,) = lake.part_files(f"replies/judge_id={B}")
    merged = pq.read_table(part, partitioning=None)
    assert merged.schema.equals(TABLES["replies"].arrow_schema)
    assert (merged["cost_usd"].to_pylist(), merged["cached_tokens"].null_count) == ([None, None], 2)
    assert merged["text"].to_pylist() == rows["text"].to_pylist() * 2


@pytest.mark.parametrize(
    "fault",
    [
        "the column judged_at is missing",
        "the column extra is unknown",
        "the column rating is of type",
    ],
)
def test_other_columns_are_not_merged(lake: Lake, fault: str) -> None:
    rows = pq.read_table(lake.part_files("verdicts")[0], partitioning=None)
    changed = {
        "missing": lambda: rows.drop(["judged_at"]),
        "unknown": lambda: rows.append_column("extra", rows["item_id"]),
        "type": lambda: rows.set_column(
            rows.column_names.index("rating"), "rating", rows["item_id"]
        ),
    }[fault.split()[-1]]()
    write_part(lake, f"verdicts/judge_id={B}", changed)
    assert fault in compact(lake)["verdicts"].left_alone[0]


def test_rows_that_differ_are_an_error_and_change_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, complete = lake.part_files("verdicts"), compaction._complete
    monkeypatch.setattr(
        compaction, "_complete", lambda table, batches: complete(table, batches)[:-1]
    )
    with pytest.raises(
        LakeError,
        match=r"^verdicts: merged part files do not hold the rows of the old ones; "
        r".* nothing was changed",
    ):
        compact(lake)
    assert lake.part_files("verdicts") == parts


def test_a_disk_that_is_full_in_the_middle_leaves_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, real, n_moved = read_rows(lake), shutil.move, []

    def move(source: Path, target: Path) -> None:
        n_moved.append(source)
        if len(n_moved) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    shrink_files(monkeypatch.setattr, 4)
    files = set(lake.mirror.rglob("*.parquet"))
    with monkeypatch.context() as full:
        full.setattr(shutil, "move", move)
        with pytest.raises(LakeError, match="No space left on device"):
            compact(lake, values=[A])
    assert set(lake.mirror.rglob("*.parquet")) == files
    assert list((lake.mirror / "_retired").iterdir()) == []
    assert read_rows(lake) == rows


_FLOATS = st.floats(width=64) | st.sampled_from([0.0, -0.0])
_LEVELS = st.lists(
    st.fixed_dictionaries({"level": st.text(max_size=3), "probability": _FLOATS}), max_size=2
)
_ROWS = st.fixed_dictionaries({
    "item_id": st.text(max_size=4), "sample": st.integers(-(2**63), 2**63 - 1), "rating": st.none() | _FLOATS,
    "probabilities": _LEVELS, "rationale": st.none() | st.text(max_size=4), "reply_digests": st.lists(st.text(max_size=2), max_size=2),
})  # fmt: skip


@settings(max_examples=8)
@given(parts=st.lists(st.lists(_ROWS, min_size=1, max_size=4), min_size=2, max_size=3))
def test_any_values_stay_as_they_are(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[Row]]
) -> None:
    """Also what no contract would let in: NaN, minus zero, zero bytes, empty texts and lists."""
    folder, table = tmp_path_factory.mktemp("any"), TABLES["verdicts"]
    files = [folder / f"{number}.parquet" for number in range(len(parts))]
    for file, rows in zip(files, parts, strict=True):
        full = pl.DataFrame(
            [{**verdict_row(A, "i", "d" * 16, None), **row} for row in rows],
            schema=table.polars_schema,
        )
        pq.write_table(full.drop("judge_id").to_arrow().cast(table.arrow_schema), file)
    (merged,) = merge_files(table, files, folder)
    assert name_rows([merged]) == name_rows(files)


def name_rows(files: Sequence[Path]) -> Counter[str]:
    return Counter(
        repr(row) for file in files for row in pq.read_table(file, partitioning=None).to_pylist()
    )


def test_tables_without_partitions_and_with_vectors(lake: Lake) -> None:
    for number in range(3):
        append_records(lake, "judges", [judge_row("lave", A, registered_at=at(number))])
        row = {
            "encoder": A,
            "encoder_signature": "e",
            "digest": f"{number}".ljust(64, "0"),
            "vector": [0.1, number / 3],
        }
        append_records(lake, "embeddings", [row])
        append_rows(
            lake, "items", make_frame("items", {"item_id": str(number), "references": ["a", "a"]})
        )
    before = {table: read_rows(lake, table) for table in ("judges", "embeddings", "items")}
    done = compact(lake)
    assert {table: done[table].after.n_files for table in before} == dict.fromkeys(before, 1)
    assert {table: read_rows(lake, table) for table in before} == before


def run(lake: Lake, **options: Sequence[str]) -> int:
    return run_compact(
        argparse.Namespace(
            **{"lake": lake.root, "table": [], "judge": [], "benchmark": [], **options}
        )
    )


def test_the_command_reports_the_result_of_each_table(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    append_records(lake, "judges", [judge_row("lave", A)])
    assert run(lake, judge=["lave"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"verdicts: 5 files, 0\.0\d MB -> 3 files, 0\.0\d MB", first)
    assert (
        last
        == "the files that were replaced are deleted by the next compact or run an hour from now"
    )
    assert run(lake, table=["replies"]) == 0
    assert capsys.readouterr().out == "nothing to merge: no partition has two small files\n"
    assert count_files(lake) == {f"judge_id={A}": 1, f"judge_id={B}": 2}


def test_the_command_refuses_what_it_does_not_know(lake: Lake) -> None:
    append_records(lake, "judges", [judge_row("lave", A)])
    with pytest.raises(
        SuiteError,
        match=r"^--judge: no judge or metric 'lava' in .*; expected one of lave, "
        r"or an id; correct it",
    ):
        run(lake, judge=["lava"])
    with pytest.raises(
        SuiteError, match=r"^--table: 'verdict' is no table; expected one of items, "
    ):
        run(lake, table=["verdict"])
