"""Core views kept as files: the same rows as the live views, read while the lake is the same, never
afterwards, whole or not at all.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports.build import keep_suite
from judgelake.tasks.warehouse import warehouse as core_tables
from judgelake.tasks.warehouse.views import view_order
from judgelake.tasks.warehouse.warehouse import (
    FOLDER,
    UNKEPT,
    find_kept,
    keep_rows,
    materialise,
    open_warehouse,
    run_sql,
)
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    case_row,
    digest_of,
    hold_since,
    ingest,
    item,
    judge_row,
    make_lake,
    make_suite,
    rating,
    verdict_row,
)

A, B = "a" * 16, "b" * 16
CORE = [name for name in view_order() if name.startswith("core_")]
MEANS = "select judge, count(*), avg(score_0_1) from core_scores group by judge order by judge"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two answers with a verdict of each of two judges, and a rating: judge A says 3 (1.0) and 2
    (0.5), B says 1 (0.0) twice.
    """
    lake = make_lake(tmp_path)
    one = item("i1")
    answers = [answer("i1", "cat", "m1"), answer("i1", "dog", "m2")]
    ingest(lake, [one], answers, [rating("i1", 1.0)])
    append_records(lake, "judges", [judge_row("a", A), judge_row("b", B)])
    digests = [digest_of(one, row["text"]) for row in answers]
    verdicts: list[Row] = [verdict_row(A, "i1", digests[0], 3), verdict_row(A, "i1", digests[1], 2)]
    verdicts += [verdict_row(B, "i1", digest, 1) for digest in digests]
    append_records(
        lake, "cases", [case_row(row["judge_id"], "i1", row["content_digest"]) for row in verdicts]
    )
    append_records(lake, "verdicts", verdicts)
    return lake


def keep(lake: Lake) -> None:
    with open_warehouse(lake, lazy=True) as connection:
        materialise(connection)


def list_kept(lake: Lake, view: str = "core_scores") -> list[Path]:
    return sorted((lake.mirror / FOLDER / view).iterdir())


def test_kept_rows_and_columns_are_those_of_the_live_views(lake: Lake) -> None:
    with open_warehouse(lake, lazy=True) as live:
        rows = {
            name: sorted(map(repr, run_sql(live, f"select * from {name}", name).fetchall()))
            for name in CORE
        }
        columns = {name: live.execute(f"describe {name}").fetchall() for name in CORE}
    keep(lake)
    assert {folder.name for folder in (lake.mirror / FOLDER).iterdir()} == set(CORE) - UNKEPT
    with open_warehouse(lake, sealed=True) as kept:
        for name in CORE:
            assert (
                sorted(map(repr, kept.execute(f"select * from {name}").fetchall())) == rows[name]
            ), name
            assert kept.execute(f"describe {name}").fetchall() == columns[name], name


def test_kept_files_are_read_while_the_lake_is_the_same_and_never_afterwards(lake: Lake) -> None:
    keep(lake)
    (version,) = list_kept(lake)
    pl.DataFrame({"judge": ["planted"], "judge_id": ["a"], "score_0_1": [0.25]}).write_parquet(
        version / "z.parquet"
    )
    for path in version.iterdir():
        if path.name != "z.parquet":
            path.unlink()
    with open_warehouse(lake, lazy=True) as connection:
        assert run_sql(connection, MEANS, "means").fetchall() == [("planted", 1, 0.25)]
    digest = digest_of(item("i1"), "dog")
    append_records(
        lake, "verdicts", [verdict_row(B, "i1", digest, 3, minute=9)]
    )  # a later attempt: B says 0.0 and 1.0
    with open_warehouse(lake, lazy=True) as connection:
        assert run_sql(connection, MEANS, "means").fetchall() == [("a", 2, 0.75), ("b", 2, 0.5)]
        materialise(connection)
        assert run_sql(connection, MEANS, "means").fetchall() == [("a", 2, 0.75), ("b", 2, 0.5)]
    assert len(list_kept(lake)) == 2


def test_what_no_core_view_reads_leaves_them_kept(lake: Lake) -> None:
    keep(lake)
    before = list_kept(lake)
    append_records(lake, "captions", [{
        "benchmark": "b", "ingest_id": "b-0", "source_file": "f", "locator": "1", "image_uri": "i.png", "captioner": "c", "text": "t",
    }])  # fmt: skip
    keep(lake)
    assert list_kept(lake) == before


def test_a_suite_s_report_keeps_its_own_judges_apart(lake: Lake) -> None:
    """Both suites call a judge `a`: over all the lake it has a longer name, in the report of either
    suite its alias.
    """
    append_records(lake, "judges", [judge_row("a", B, suite="t", registered_at=at(2))])
    named = "select distinct judge from core_scores order by judge"
    for name, expected in (("s", [("a",), ("b",)]), ("t", [("a",)])):
        with open_warehouse(lake, lazy=True) as connection:
            keep_suite(connection, make_suite(name=name))
            materialise(connection)
            assert connection.execute(named).fetchall() == expected
    with open_warehouse(lake, lazy=True) as connection:
        assert run_sql(connection, named, "named").fetchall() == [(f"a@{A}/r1",), (f"a@{B}/r1",)]


def test_two_at_once_leave_one_whole_version(lake: Lake) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: keep(lake), range(2)))
    (version,) = list_kept(lake)
    assert sorted(file.stem for file in version.iterdir()) == [A, B]


def test_what_another_process_moves_meanwhile_is_passed_over(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, scan = lake.mirror / FOLDER / "core_x", os.scandir
    others = folder / ".of_another_process.tmp"

    @contextmanager
    def scan_and_move(place: Any) -> Iterator[Iterator[os.DirEntry[str]]]:
        with scan(place) as entries:
            listed = list(entries)
        if others in [Path(entry) for entry in listed]:
            others.rmdir()
        yield iter(listed)

    with duckdb.connect() as connection:
        connection.execute("create view core_x as select 1 as x")
        others.mkdir(parents=True)
        monkeypatch.setattr(os, "scandir", scan_and_move)
        assert keep_rows(connection, lake, "core_x", "first")
    assert [path.name for path in folder.iterdir()] == ["first"]


@pytest.mark.parametrize(
    ("held_for_h", "kept"),
    # `first` was superseded three hours ago, `second` half an hour ago: somebody may still read it
    [(None, ["second", "third"]), (2.0, ["second", "third"]), (4.0, ["first", "second", "third"])],
)
def test_older_versions_go_an_hour_after_newer_ones_came_unless_an_older_run_lives(
    lake: Lake, held_for_h: float | None, kept: list[str]
) -> None:
    folder = lake.mirror / FOLDER / "core_x"
    now = time.time()
    if held_for_h is not None:
        hold_since(lake, now - 3600 * held_for_h)
    with duckdb.connect() as connection:
        connection.execute("create view core_x as select 1 as x")
        for version, hours in (("first", 5.0), ("second", 3.0), ("third", 0.5)):
            keep_rows(connection, lake, "core_x", version)
            os.utime(folder / version, (now - 3600 * hours,) * 2)
        keep_rows(connection, lake, "core_x", "fourth")
    assert sorted(path.name for path in folder.iterdir()) == sorted([*kept, "fourth"])
    assert find_kept(lake.mirror, "core_x", "second")


def test_a_copy_that_fails_leaves_nothing_behind(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(core_tables, "move_folder", run_out)
    with duckdb.connect() as connection:
        connection.execute("create view core_x as select 1 as x")
        with pytest.raises(
            LakeError, match=r"core_x: cannot be written \(No space left on device\)"
        ):
            keep_rows(connection, lake, "core_x", "v")
    assert list((lake.mirror / FOLDER / "core_x").iterdir()) == []
