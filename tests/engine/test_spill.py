"""A lake that refuses what was paid for: tried again, then spilled, then taken in; with failing
writers and on a disk that is full.
"""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from judgelake.schemas.tables import TABLES
from judgelake.tasks.backends.base import request_digest
from judgelake.tasks.engine import ledger as ledger_module
from judgelake.tasks.engine.budget import OVER_BUDGET
from judgelake.tasks.engine.ledger import Ledger, load_replies
from judgelake.tasks.engine.spill import spill_folder, spill_replies, take_in_spilled
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake, append_records, append_rows, open_lake
from judgelake.tasks.lake.leases import SteadyClock
from judgelake.tasks.lake.stop_flag import HALT, LOST, STOP, StopFlag, set_stop, stop_file
from judgelake.tasks.types import Case, Message, Pending, Reply, Request, Verdict
from tests.flows.harness import HANG_S
from tests.lakes import at, make_lake, query, reply_row

JUDGE = "a" * 16


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


@pytest.fixture(autouse=True)
def spill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUDGELAKE_SPILL", str(tmp_path / "spill"))
    return tmp_path / "spill"


def make_ledger(lake: Lake, patience_s: float = 0.0) -> Ledger:
    return Ledger(lake, "run-1", JUDGE, "r1", flush_replies=1, patience=lambda: patience_s)


def keep(ledger: Ledger, number: int, text: str = "So rating=3") -> None:
    request = Request("m", (Message("user", f"Q{number}"),))
    digest = request_digest(request)
    ledger.keep_reply(digest, request, Reply(text))
    ledger.keep_verdicts(
        Case("b", f"i{number}", "vqa", "Q", ("r",), "a", f"{number:016}"),
        [Verdict("ok", rating=3, score_0_1=1.0)],
        [digest],
    )


class Refusing:
    """Writes as the lake does, once it has refused `times`."""

    def __init__(self, times: float) -> None:
        self.left = times

    def __call__(self, *given: object) -> object:
        self.left -= 1
        if self.left >= 0:
            raise LakeError("lake/replies: cannot be written (No space left on device)")
        return append_rows(*given)  # type: ignore[arg-type]


def test_a_lake_that_refuses_for_a_while_costs_nothing(
    lake: Lake, spill: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ledger_module, "append_rows", Refusing(1))
    ledger = make_ledger(lake, patience_s=20)

    async def judge() -> None:
        keep(ledger, 1)
        flushing = asyncio.create_task(ledger.flush_regularly(3600, lambda _: None))
        await asyncio.sleep(0.3)
        waiting = asyncio.create_task(ledger.kept.wait())
        await asyncio.sleep(0.1)
        assert not waiting.done()  # nothing new is asked meanwhile
        await asyncio.wait_for(waiting, HANG_S)
        flushing.cancel()

    asyncio.run(judge())
    assert [len(query(lake, f"select * from raw_{name}")) for name in ("replies", "verdicts")] == [
        1,
        1,
    ]
    assert not spill.exists()
    assert capsys.readouterr().err.startswith(
        "judgelake: lake/replies: cannot be written (No space left on device)\njudgelake: "
        "trying again for 20 s;"
    )


def test_a_lake_that_goes_on_refusing_has_its_replies_spilled_and_taken_in(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as full:
        full.setattr(ledger_module, "append_rows", Refusing(float("inf")))
        ledger = make_ledger(lake)
        keep(ledger, 1)
        keep(ledger, 2)
        with pytest.raises(LakeError, match="No space left") as refused:
            asyncio.run(ledger.flush_regularly(3600, lambda _: None))
        keep(ledger, 3)  # was in flight
        with pytest.raises(LakeError, match="3 replies that were paid for"):
            asyncio.run(ledger.flush_patiently())
    folder = spill_folder(lake)
    assert (
        f"2 replies that were paid for lie in {folder}; the next run on this machine takes them in"
        in str(refused.value)
    )
    assert folder.stat().st_mode & 0o077 == 0
    assert query(lake, "select * from raw_verdicts") == []  # none without its reply
    assert take_in_spilled(lake) == 3
    assert (
        "3 replies that an earlier run could not write are in the lake now"
        in capsys.readouterr().err
    )
    assert len(load_replies(lake, JUDGE)) == 3
    assert (list(folder.iterdir()), take_in_spilled(lake)) == ([], 0)


def test_each_lake_takes_in_its_own(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_lake(tmp_path / "other", create=True)
    assert spill_folder(lake) != spill_folder(other)
    monkeypatch.delenv("JUDGELAKE_SPILL")
    assert spill_folder(lake).parent.name == f"judgelake-spill-{os.getuid()}"


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of all users, in which no spill folder is named."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.delenv("JUDGELAKE_SPILL")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def write_replies(folder: Path) -> Path:
    file = folder / "x.parquet"
    rows = [reply_row(JUDGE, "1", text="So rating=3")]
    pl.DataFrame(rows, schema=TABLES["replies"].polars_schema).write_parquet(file)
    return file


def test_the_folders_are_closed_to_others(lake: Lake, shared: Path) -> None:
    folder = spill_folder(lake)
    folder.mkdir(parents=True)  # as an earlier version left them
    spill_replies(lake, pl.read_parquet(write_replies(shared)))
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder)] == [0o700, 0o700]
    assert take_in_spilled(lake) == 1


@pytest.mark.parametrize("foreign", ["parent", "linked parent", "leaf", "linked leaf"])
def test_a_folder_of_another_user_or_behind_a_link_is_neither_read_nor_written(
    lake: Lake, shared: Path, tmp_path: Path, foreign: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root can give folders away; a user who is not root makes only the links."""
    leaf = spill_folder(lake)
    target = tmp_path / "elsewhere"
    target.mkdir(mode=0o700)
    if foreign == "linked parent":
        (target / leaf.name).mkdir()
        leaf.parent.symlink_to(target)
    elif foreign == "linked leaf":
        leaf.parent.mkdir()
        leaf.symlink_to(target)
    else:
        leaf.mkdir(parents=True)
        if os.getuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(leaf.parent if foreign == "parent" else leaf, 65534, 65534)
    file = write_replies(leaf)
    assert take_in_spilled(lake) == 0
    assert file.exists()
    assert "is a link or belongs to another user" in capsys.readouterr().err
    with pytest.raises(LakeError, match="is a link or belongs to another user"):
        spill_replies(lake, pl.read_parquet(file))
    assert [*leaf.iterdir()] == [file]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_taken_in(
    lake: Lake, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leaf = spill_folder(lake)
    leaf.mkdir(parents=True)
    os.chown(write_replies(leaf), 65534, 65534)
    (leaf / "y.parquet").symlink_to(write_replies(shared))
    assert take_in_spilled(lake) == 0
    assert capsys.readouterr().err.count("is a link or belongs to another user") == 2


def test_where_spilling_fails_too_the_loss_is_reported(
    lake: Lake, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spill.write_text("a file, not a folder")
    monkeypatch.setattr(ledger_module, "append_rows", Refusing(float("inf")))
    ledger = make_ledger(lake)
    keep(ledger, 1)
    with pytest.raises(LakeError, match=r"1 replies that were paid for are lost: .*cannot be made"):
        asyncio.run(ledger.flush_patiently())


def test_where_only_verdicts_have_no_room_nothing_is_spilled(
    lake: Lake, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_verdicts(to: Lake, name: str, rows: pl.DataFrame) -> object:
        if name == "verdicts":
            raise LakeError("lake/verdicts: cannot be written (No space left on device)")
        return append_rows(to, name, rows)

    monkeypatch.setattr(ledger_module, "append_rows", refuse_verdicts)
    ledger = make_ledger(lake)
    keep(ledger, 1)
    with pytest.raises(
        LakeError,
        match=r"No space left on device\)\nall replies that were paid for are in the lake; run "
        r"again",
    ):
        asyncio.run(ledger.flush_patiently())
    assert len(load_replies(lake, JUDGE)) == 1
    assert not spill.exists()


def test_what_cannot_be_taken_in_is_reported_and_stays(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    spill_folder(lake).mkdir(parents=True)
    file = spill_folder(lake) / "x.parquet"
    file.write_bytes(b"half")
    assert take_in_spilled(lake) == 0
    assert file.exists()
    assert capsys.readouterr().err.startswith(
        f"judgelake: {file}: spilled replies cannot be taken in"
    )


def test_cases_left_open_are_those_of_a_batch_not_those_of_a_budget(lake: Lake) -> None:
    ledger = make_ledger(lake)
    ledger.leave_open([Pending("batch-1"), Pending("batch-1")])
    ledger.leave_open([OVER_BUDGET])
    assert ledger.tally.n_open == 1


# ---- a disk that is full


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("no right to mount a tmpfs here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_keeps_what_was_paid_for_and_the_next_run_goes_on(small_disk: Path) -> None:
    """Two megabytes of text that does not compress, on a disk of one; then the disk is given
    more.
    """
    lake = open_lake(small_disk / "lake", create=True)
    ledger = make_ledger(lake)
    for number in range(4):
        keep(ledger, number, os.urandom(500_000).hex())
    with pytest.raises(
        LakeError, match=r"No space left on device(.|\n)*4 replies that were paid for lie in"
    ):
        asyncio.run(ledger.flush_patiently())
    set_stop(lake, "run-1", STOP)  # a run on a full disk can still be stopped
    assert StopFlag(lake, "run-1").is_set()
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    assert take_in_spilled(lake) == 4
    assert len(load_replies(lake, JUDGE)) == 4


# ---- clocks and flags


@pytest.mark.parametrize("jump", [timedelta(hours=-1), timedelta(hours=1)])
def test_a_clock_that_jumps_does_not_change_the_order_of_attempts(jump: timedelta) -> None:
    wall, now_s = [at(0)], [100.0]
    clock = SteadyClock(None, lambda: wall[0], lambda: now_s[0])
    first = clock.now()
    wall[0] += jump
    now_s[0] += 5
    assert (first, clock.now(), clock.elapsed_s()) == (at(0), at(0) + timedelta(seconds=5), 5)


def test_after_a_run_with_a_clock_ahead_the_next_attempts_are_still_the_later_ones(
    lake: Lake,
) -> None:
    """An earlier run stamped its reply an hour from now; what comes now is stamped after it."""
    ahead = datetime.now(UTC) + timedelta(hours=1)
    append_records(
        lake,
        "replies",
        [reply_row(JUDGE, "1", replied_at=ahead), reply_row("b" * 16, "1", replied_at=at(0))],
    )
    ledger = make_ledger(lake)
    keep(ledger, 1)
    asyncio.run(ledger.flush())
    (row,) = query(lake, "select judged_at from raw_verdicts")
    assert ahead < row["judged_at"] < ahead + timedelta(minutes=5)


def test_a_flag_is_read_again_after_a_moment(lake: Lake) -> None:
    flag = StopFlag(lake, "r")
    assert (flag.is_set(), flag.is_halting()) == (False, False)
    set_stop(lake, "r", STOP)
    time.sleep(0.25)
    assert (flag.is_set(), flag.is_halting()) == (True, False)
    set_stop(lake, "r", HALT)
    time.sleep(0.25)
    assert (flag.is_set(), flag.is_halting()) == (True, True)
    set_stop(lake, "r", LOST)
    assert stop_file(lake, "r").read_bytes() == LOST
