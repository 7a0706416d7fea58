"""One snapshot of the lake: whatever is written between two of its listings, the rows that it shows
fit together; a part file that goes away is noticed.
"""

import pickle
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from judgelake.flows.sql_answers import answer as answer_query
from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake import snapshot as snapshots
from judgelake.tasks.lake.lake import Lake, append_records, open_lake
from judgelake.tasks.lake.snapshot import LEVELS, Snapshot
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.sources.registry import BenchmarkSettings, DemoSettings
from judgelake.tasks.warehouse.checks import run_checks
from judgelake.tasks.warehouse.removal import forget, plan_judge
from judgelake.tasks.warehouse.warehouse import open_warehouse, renew, select_frame
from tests.bucket_server import Bucket
from tests.lakes import (
    Row,
    answer,
    case_row,
    digest_of,
    duel_row,
    ingest,
    item,
    judge_row,
    make_lake,
    reply_row,
    verdict_row,
)

A, B = "a" * 16, "b" * 16
CAT = item("i0")
Write = Callable[[Lake], object]


def judge(lake: Lake, text: str, minute: float) -> None:
    """All that one more answer leads to, in the order in which runs write it."""
    ingest(lake, [CAT], [answer("i0", text), answer("i0", "dog", "m2")], minute=minute)
    content, dog = digest_of(CAT, text), digest_of(CAT, "dog")
    append_records(lake, "judges", [judge_row(f"lave {text}", A), judge_row(f"chirp {text}", B)])
    append_records(lake, "cases", [case_row(A, "i0", content)])
    append_records(lake, "cases", [case_row(B, "i0", content, other_digest=dog, shown_first="a")])
    reply = text.encode().hex()
    append_records(lake, "replies", [reply_row(A, reply), reply_row(B, reply)])
    rests_on: Row = {"reply_digests": [reply.ljust(64, "0")]}
    append_records(lake, "verdicts", [verdict_row(A, "i0", content, 3, **rests_on)])
    append_records(lake, "duels", [duel_row(B, "i0", content, dog, "a", "a", **rests_on)])


def take_disturbed(lake: Lake, write: Write, n: int, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    """A snapshot during which `write` is done before the listing number `n`."""
    guard, listings = threading.Lock(), iter(range(1000))

    def disturb(name: str) -> Callable[..., Any]:
        real = getattr(snapshots, name)

        def list_it(*given: Any) -> object:
            with guard:
                if next(listings) == n:
                    write(lake)
            return real(*given)

        return list_it

    with monkeypatch.context() as at_work:
        for name in ("list_local", "list_keys", "list_page", "list_sidecars"):
            at_work.setattr(snapshots, name, disturb(name))
        taken = lake.take_snapshot()
        assert next(listings) > n, "the writer came too late"
        return taken


def take_all(
    folder: Path, prepare: Write, write: Write, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Snapshot]:
    """Snapshots of a prepared lake, of each with `write` before another of its listings; those that
    show the same once.
    """
    before, after = make_lake(folder / "before"), make_lake(folder / "after")
    prepare(before)
    shutil.copytree(before.mirror, after.mirror, dirs_exist_ok=True)
    write(after)
    seen = set()
    for n in range(N_ON_DISK):
        lake = make_lake(folder / str(n))
        shutil.copytree(before.mirror, lake.mirror, dirs_exist_ok=True)

        def write_again(lake: Lake) -> object:
            return shutil.copytree(after.mirror, lake.mirror, dirs_exist_ok=True)

        taken = take_disturbed(lake, write_again, n, monkeypatch)
        shown = frozenset(part for of_one in taken.list_parts(*TABLES).values() for part in of_one)
        if shown not in seen:
            seen.add(shown)
            yield taken
    assert len(seen) > 1, "the writer made no difference"


N_ON_DISK = len(TABLES) + 1
"""Each table, and the notes of replaced parts."""


COUNTS = """
select
    (select count(*) from raw_verdicts),
    (select count(*) from raw_replies),
    (select count(*) from raw_answers)
"""


def select(taken: Snapshot, text: str) -> list[tuple[Any, ...]]:
    with open_warehouse(taken, lazy=True) as connection:
        return select_frame(connection, text, "test").rows()


LACKING = """
select count(*) from raw_verdicts
anti join stg_answers using (benchmark, item_id, content_digest)
where content_digest <> $old
"""


def find_faults(taken: Snapshot) -> list[object]:
    """What the checks find, and verdicts on answers that are not there."""
    with open_warehouse(taken, lazy=True) as connection:
        old = {"old": digest_of(CAT, "cat")}
        lacking = select_frame(connection, LACKING, "test", old).item()
        return [*run_checks(connection), *(["a verdict without its answer"] if lacking else [])]


def test_each_table_is_listed_after_those_that_refer_to_it() -> None:
    names = [name for level in LEVELS for name in level]
    assert sorted(names) == sorted(TABLES)
    order = [
        "correlations",
        "verdicts",
        "replies",
        "cases",
        "judges",
        "ingests",
        "human_ratings",
        "answers",
        "items",
    ]
    assert sorted(order, key=names.index) == order


def test_a_writer_between_any_two_listings_leaves_no_row_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for taken in take_all(
        tmp_path,
        lambda lake: judge(lake, "cat", 0),
        lambda lake: judge(lake, "a cat", 9),
        monkeypatch,
    ):
        assert find_faults(taken) == []


def test_a_new_ingest_between_any_two_listings_replaces_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ingest_demo(lake: Lake, n_scenes: int) -> None:
        settings = BenchmarkSettings("demo", "demo", DemoSettings(scenes=n_scenes))
        ingest_benchmark(lake, settings, lake.root / "images", None)

    counts = "select (select count(*) from stg_items), (select count(*) from stg_answers)"
    taken = take_all(
        tmp_path, lambda lake: ingest_demo(lake, 1), lambda lake: ingest_demo(lake, 2), monkeypatch
    )
    found = {select(one, counts)[0] for one in taken}
    (old, new) = (
        select(Lake(tmp_path / name / "lake").take_snapshot(), counts)[0]
        for name in ("before", "after")
    )
    assert found == {old, new}
    assert 0 < old[0] < new[0]


def test_a_judge_that_is_forgotten_between_any_two_listings_goes_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for taken in take_all(
        tmp_path,
        lambda lake: judge(lake, "cat", 0),
        lambda lake: forget(lake, plan_judge(lake, A)),
        monkeypatch,
    ):
        assert find_faults(taken) == []
        tables = ("verdicts", "replies", "cases", "judges")
        counts = ", ".join(f"(select count(*) from raw_{t} where judge_id = '{A}')" for t in tables)
        assert select(taken, f"select {counts}")[0] in ((1, 1, 1, 1), (0, 0, 0, 0))


def test_the_first_rows_of_a_bucket_between_any_two_listings(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two listings of all keys; tables one by one where they differ; what is replaced."""
    n_verdicts = []
    for n in range(3):
        lake = open_lake(f"{bucket.url}/{n}", create=True)
        append_records(lake, "judges", [judge_row("lave", A)])
        taken = take_disturbed(lake, lambda lake: judge(lake, "cat", 9), n, monkeypatch)
        assert find_faults(taken) == []
        n_verdicts.append(len(taken.listed["verdicts"]))
    assert n_verdicts == [1, 1, 0]


def test_levels_of_a_bucket_are_listed_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    ended: list[str] = []

    def list_slowly(place: PurePosixPath, _ending: str) -> dict[str, int]:
        level = next(number for number, names in enumerate(LEVELS) if place.name in names)
        assert {name for names in LEVELS[:level] for name in names} <= set(ended)
        begun.append(place.name)
        time.sleep(0.001)
        ended.append(place.name)
        return {}

    monkeypatch.setattr(snapshots, "list_page", lambda _: None)
    monkeypatch.setattr(snapshots, "list_keys", list_slowly)
    root: Any = PurePosixPath("bucket")
    assert snapshots._list_whole_bucket(root) == {name: {} for name in TABLES}
    assert sorted(begun) == sorted(TABLES)


def test_nothing_that_came_later_is_shown(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    judge(lake, "cat", 0)
    taken: Snapshot = pickle.loads(pickle.dumps(lake.take_snapshot()))
    with open_warehouse(taken, lazy=True) as connection:
        judge(lake, "a cat", 9)
        assert select_frame(connection, COUNTS, "test").row(0) == (1, 2, 2)
    assert select(lake.take_snapshot(), COUNTS) == [(2, 4, 4)]


def test_some_tables_can_be_newer(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    judge(lake, "cat", 0)
    taken = lake.take_snapshot()
    judge(lake, "a cat", 9)
    newer = taken.with_newer("replies")
    assert select(newer, "select count(*) from raw_replies") == [(4,)]
    assert select(newer, "select count(*) from raw_verdicts") == [(1,)]
    assert taken.list_parts("replies") != newer.list_parts("replies")


def test_a_part_that_went_away_is_reported_and_the_lake_is_read_anew(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    judge(lake, "cat", 0)
    judge(lake, "a cat", 9)
    text = "select count(*) from verdicts"
    with open_warehouse(lake, sealed=True) as connection:
        assert not renew(connection)
        lake.part_files("verdicts")[0].unlink()
        with pytest.raises(
            LakeError, match=r"lake: part files that were there at .* are gone; .*; run again"
        ):
            select_frame(connection, text, "test")
        assert renew(connection)
        assert select_frame(connection, text, "test").item() == 1
        assert (
            select_frame(connection, "select count(*) from chk_verdicts_that_differ", "test").item()
            == 0
        )
        assert not renew(connection)


def test_a_prompt_goes_on_where_part_files_went_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = make_lake(tmp_path)
    judge(lake, "cat", 0)
    judge(lake, "a cat", 9)
    with open_warehouse(lake, sealed=True) as connection:
        lake.part_files("verdicts")[0].unlink()
        answer_query(connection, "select count(*) as n from verdicts;", "csv")
        said = capsys.readouterr()
        assert said.out == "n\n1\n"
        assert "it is read anew" in said.err
        answer_query(connection, "select count(*) as n from verdicts", "csv")
        assert capsys.readouterr() == ("n\n1\n", "")
