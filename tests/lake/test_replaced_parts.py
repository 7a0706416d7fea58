"""Replaced part files: which of them readers leave out at every moment, and when they are
deleted.
"""

import json
import os
import shutil
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake import lake as retiring
from judgelake.tasks.lake import snapshot as reading
from judgelake.tasks.lake.cleanup import GRACE_S, KILLED_AFTER_S, remove_retired
from judgelake.tasks.lake.lake import Lake, read_recorded, retire
from judgelake.tasks.lake.leases import STALE_S
from judgelake.tasks.lake.snapshot import Retired
from tests.lakes import hold_since, make_lake

FOLDER = "verdicts/judge_id=a"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def lake_root(lake: Lake) -> Path:
    assert isinstance(lake.root, Path)
    return lake.root


def put(lake: Lake, *names: str) -> list[Path]:
    """Files in a partition, whose content nobody reads here."""
    paths = [lake_root(lake) / FOLDER / f"{name}.parquet" for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return paths


def seen(lake: Lake) -> str:
    """The files that readers read now, by their letters."""
    return "".join(Path(name).stem for name in lake.list_parts("verdicts")["verdicts"])


def there(lake: Lake) -> str:
    return "".join(sorted(path.stem for path in (lake_root(lake) / FOLDER).glob("*.parquet")))


def retire_ago(
    lake: Lake,
    seconds: float,
    old: Sequence[Path],
    new: Sequence[Path] = (),
    *,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as then:
        then.setattr(retiring, "datetime", _Past(seconds))
        retire(lake, old, new)


class _Past:
    """`datetime` with the time of a while ago."""

    def __init__(self, seconds: float) -> None:
        self._ago = timedelta(seconds=seconds)

    def now(self, zone: tzinfo) -> datetime:
        return datetime.now(zone) - self._ago


def test_without_replacements_files_count_no_more_at_once(lake: Lake) -> None:
    a, _ = put(lake, "A", "B")
    assert seen(lake) == "AB"
    retire(lake, [a])
    assert seen(lake) == "B"
    assert there(lake) == "AB"


def test_old_files_count_until_the_last_new_one_is_there_and_new_ones_only_then(lake: Lake) -> None:
    old = put(lake, "A", "B")
    folder = old[0].parent
    retire(lake, old, [folder / "C.parquet", folder / "D.parquet"])
    assert seen(lake) == "AB"
    put(lake, "D")
    assert seen(lake) == "AB"
    put(lake, "X")  # another writer's
    assert seen(lake) == "ABX"
    put(lake, "C")
    assert seen(lake) == "CDX"


def test_a_file_that_is_replaced_once_more(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A and B became C, C and D became E: deleting C first would bring A and B back."""
    a, b, c, d, e = put(lake, "A", "B", "C", "D", "E")
    retire_ago(lake, 10, [a, b], [c], monkeypatch=monkeypatch)
    retire_ago(
        lake, GRACE_S + 10, [c, d], [e], monkeypatch=monkeypatch
    )  # its clock was an hour behind
    assert seen(lake) == "E"
    assert remove_retired(lake) == 0
    assert (seen(lake), there(lake)) == ("E", "ABCDE")
    assert (remove_retired(lake, 5), seen(lake), there(lake)) == (2, "E", "CDE")
    assert (remove_retired(lake, 5), seen(lake), there(lake)) == (2, "E", "E")


def test_deleted_after_the_grace_and_the_sidecar_after_as_long_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = put(lake, "A", "B", "C")
    retire_ago(lake, GRACE_S - 10, [a], monkeypatch=monkeypatch)
    retire_ago(lake, GRACE_S + 10, [b], monkeypatch=monkeypatch)
    assert remove_retired(lake) == 1
    assert (seen(lake), there(lake)) == ("C", "AC")
    assert len(list((lake_root(lake) / "_retired").iterdir())) == 2
    retire_ago(lake, 2 * GRACE_S + 10, [c], monkeypatch=monkeypatch)
    assert remove_retired(lake) == 1
    assert len(list((lake_root(lake) / "_retired").iterdir())) == 3
    assert remove_retired(lake, 0) == 1
    assert len(list((lake_root(lake) / "_retired").iterdir())) == 1
    assert remove_retired(lake, 0) == 0
    assert list((lake_root(lake) / "_retired").iterdir()) == []


def test_what_a_killed_compaction_left_goes_after_a_day(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = put(lake, "A", "B", "C")
    new = [c, c.with_name("D.parquet")]
    retire_ago(lake, KILLED_AFTER_S - 10, [a, b], new, monkeypatch=monkeypatch)
    assert (remove_retired(lake, 0), seen(lake), there(lake)) == (0, "AB", "ABC")
    assert (remove_retired(lake, 0, 5), seen(lake), there(lake)) == (1, "AB", "AB")
    assert remove_retired(lake, 0, 5) == 0  # the sidecar only now: a reader may be between the two
    assert list((lake_root(lake) / "_retired").iterdir()) == []


def test_temporary_files_of_dead_writers_go_after_a_day(lake: Lake) -> None:
    (part,) = put(lake, "A")
    young, old = part.with_name(".1.tmp"), part.with_name(".2.tmp")
    for file in (young, old):
        file.touch()
    os.utime(old, (time.time() - KILLED_AFTER_S - 10,) * 2)
    remove_retired(lake)
    assert (young.exists(), old.exists(), part.exists()) == (True, False, True)


def test_the_parts_that_stay_are_named(lake: Lake) -> None:
    a = put(lake, "A", "B")[0]
    (lake_root(lake) / "reports").mkdir()
    (lake_root(lake) / "reports" / "x.parquet").touch()
    retire(lake, [a])
    remove_retired(lake)
    assert read_recorded(lake.root) == frozenset({f"{FOLDER}/B.parquet"})


def test_a_sidecar_is_read_once_by_a_process(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    (a,) = put(lake, "A")
    retire(lake, [a])
    assert seen(lake) == ""
    monkeypatch.setattr(reading, "read_file", lambda _: pytest.fail("it never changes"))
    assert seen(lake) == ""


def test_a_sidecar_that_cannot_be_read_is_reported(lake: Lake) -> None:
    (a,) = put(lake, "A")
    sidecar = Path(str(retire(lake, [a])))
    sidecar.write_text(json.dumps({"files": 3}))
    with pytest.raises(
        LakeError,
        match=r"_retired/.*: cannot be read as the note of replaced part files " r".*; restore it",
    ):
        seen(lake)


_NAMES = st.sets(st.sampled_from("ABCDEF"), max_size=3)


@given(files=_NAMES, replacements=_NAMES, order=st.permutations("ABCDEF"))
def test_readers_see_either_all_old_or_all_new(
    files: set[str], replacements: set[str], order: Sequence[str]
) -> None:
    """Whatever the order in which files appear beside complete old ones: never a new one before all
    are there, never both.
    """
    new = replacements - files
    one = Retired(Path("s"), frozenset(files), frozenset(new), datetime.now(UTC))
    listed = set(files)
    for name in order:
        listed |= {name} & new
        current = listed - one.hides(listed)
        assert current == (new if new <= listed else files)


def test_replacements_are_awaited_only_where_was_listed(lake: Lake) -> None:
    """One sidecar for several tables, of which a reader lists one: the rest it cannot know."""
    files = frozenset({"items/a.parquet", "answers/a.parquet"})
    new = frozenset({"items/b.parquet", "answers/b.parquet"})
    one = Retired(Path("s"), files, new, datetime.now(UTC))
    assert one.hides({"items/a.parquet", "items/b.parquet"}) == new
    assert one.hides({"items/a.parquet", "items/b.parquet"}, ["items"]) == files
    assert one.hides({"items/a.parquet"}, ["items"]) == new


@pytest.mark.parametrize(("began_s_ago", "stays"), [(GRACE_S + 1000, "AB"), (GRACE_S - 1000, "B")])
def test_what_was_retired_since_a_live_run_began_stays(
    lake: Lake, began_s_ago: float, stays: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run may have a snapshot that names it."""
    (a, _) = put(lake, "A", "B")
    retire_ago(lake, GRACE_S + 10, [a], monkeypatch=monkeypatch)
    hold_since(lake, time.time() - began_s_ago)
    remove_retired(lake)
    assert there(lake) == stays
    shutil.rmtree(lake_root(lake) / "_leases")
    remove_retired(lake)
    assert there(lake) == "B"


def test_a_run_that_gives_no_sign_of_life_holds_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    (a,) = put(lake, "A")
    retire_ago(lake, GRACE_S + 10, [a], monkeypatch=monkeypatch)
    hold_since(lake, time.time() - GRACE_S - 1000, beaten_at=time.time() - STALE_S - 10)
    assert remove_retired(lake) == 1
