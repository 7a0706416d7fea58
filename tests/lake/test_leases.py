"""Leases: who holds, who waits, who may take over; with clocks and process tables made here, on a
disk and on an S3 server.
"""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelake.tasks.errors import LakeError, LeaseError
from judgelake.tasks.lake import leases
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.lake.leases import (
    FOLDER,
    HERE,
    Surroundings,
    hold_leases,
    is_stale,
    list_leases,
)
from judgelake.tasks.lake.processes import find_birth, name_place
from judgelake.tasks.lake.storage import write_whole
from tests.bucket_server import Bucket
from tests.conftest import CHECKOUT
from tests.flows.harness import HANG_S, wait_until
from tests.lakes import make_lake


@dataclasses.dataclass
class World:
    """Clocks that only `sleep` moves, and the processes of one machine: pid -> birth. `at` runs
    once a time has passed.
    """

    time_s: float = 1e9
    wall_shift_s: float = 0.0
    processes: dict[int, int] = dataclasses.field(default_factory=lambda: {1: 10, 2: 20})
    at: dict[float, Callable[[], None]] = dataclasses.field(default_factory=dict)

    def sleep(self, seconds: float) -> None:
        self.time_s += max(seconds, 0.001)
        for when in [when for when in self.at if self.time_s - 1e9 >= when]:
            self.at.pop(when)()

    def process(self, pid: int, place: str = "here") -> Surroundings:
        return Surroundings(
            wall=lambda: self.time_s + self.wall_shift_s, monotonic=lambda: self.time_s, sleep=self.sleep,
            find_birth=self.processes.get, host=f"host-{place}", place=place, pid=pid,
        )  # fmt: skip

    @property
    def passed_s(self) -> float:
        return self.time_s - 1e9


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


@pytest.fixture
def world() -> World:
    return World()


def silent(_: str) -> None:
    """Nobody listens."""


def list_lease_files(lake: Lake, name: str = "n") -> list[Path]:
    return sorted(Path(str(lake.root), FOLDER, name).iterdir())


def leave_behind(lake: Lake, around: Surroundings, name: str = "n") -> None:
    """A lease as a killed process leaves it."""
    with hold_leases(lake, [name], "run 1 of s", 0, silent, around=around):
        file = list_lease_files(lake, name)[-1]
        held = file.read_bytes()
    file.write_bytes(held)


def rewrite(lake: Lake, **changes: object) -> None:
    """Another process changes what its lease says: a heartbeat, say."""
    file = list_lease_files(lake)[-1]
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


# ---- holding and giving back


def test_a_lease_names_its_holder_and_is_given_back(lake: Lake, world: World) -> None:
    with hold_leases(
        lake, ["b", "a", "b"], "run 1 of s", None, silent, around=world.process(1)
    ) as held:
        assert [(one.name, one.epoch, one.owner, one.host, one.pid, one.since) for one in list_leases(lake)] == [
            ("a", 1, "run 1 of s", "host-here", 1, 1e9), ("b", 1, "run 1 of s", "host-here", 1, 1e9),
        ]  # fmt: skip
        assert held.lost == ()
    assert list_leases(lake) == []


def test_it_is_given_back_when_the_block_fails(lake: Lake, world: World) -> None:
    def fail() -> None:
        with hold_leases(lake, ["n"], "run 1", None, silent, around=world.process(1)):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list_leases(lake) == []


def test_epochs_only_rise_and_old_files_go(lake: Lake, world: World) -> None:
    """Were they to begin again at 1, who had seen an old epoch could take the next one beside a new
    holder.
    """
    for _ in range(5):
        with hold_leases(lake, ["n"], "run", None, silent, around=world.process(1)):
            pass
    assert [path.name for path in list_lease_files(lake)] == [
        "000000000004.json",
        "000000000005.json",
    ]


# ---- waiting


def test_without_waiting_the_holder_is_named(lake: Lake, world: World) -> None:
    with hold_leases(lake, ["n"], "run 1 of nightly", None, silent, around=world.process(1)):
        with (
            pytest.raises(
                LeaseError,
                match=r"run 1 of nightly \(host host-here, process 1, since 2001-09-09 "
                r"01:46:40 UTC\) holds n",
            ),
            hold_leases(lake, ["n"], "run 2", 0, silent, around=world.process(2)),
        ):
            pass
        assert world.passed_s == 0
        assert [one.owner for one in list_leases(lake)] == ["run 1 of nightly"]


def test_waiting_is_reported_at_once_and_every_minute_and_ends(lake: Lake, world: World) -> None:
    reported: list[float] = []
    beats = {
        float(second): lambda second=second: rewrite(lake, beats=second)
        for second in range(30, 300, 30)
    }
    with hold_leases(lake, ["n"], "run 1", None, silent, around=world.process(1)):
        world.at |= beats
        with (
            pytest.raises(LeaseError, match="within 150 s"),
            hold_leases(
                lake,
                ["n"],
                "run 2",
                150,
                lambda _: reported.append(world.passed_s),
                around=world.process(2),
            ),
        ):
            pass
    assert reported == [0, 60, 120]
    assert world.passed_s == pytest.approx(150, abs=1)


def test_who_waits_gets_it_once_it_is_given_back(lake: Lake, world: World) -> None:
    with contextlib.ExitStack() as first:
        first.enter_context(
            hold_leases(lake, ["n"], "run 1", None, silent, around=world.process(1))
        )
        world.at[20] = first.close
        with hold_leases(lake, ["n"], "run 2", None, silent, around=world.process(2)):
            assert [one.owner for one in list_leases(lake)] == ["run 2"]
            assert 20 <= world.passed_s <= 22


def test_who_waits_can_be_stopped(lake: Lake, world: World) -> None:
    with (
        hold_leases(lake, ["n"], "run 1", None, silent, around=world.process(1)),
        pytest.raises(KeyboardInterrupt),
        hold_leases(
            lake,
            ["a", "n"],
            "run 2",
            None,
            silent,
            should_stop=lambda: world.passed_s > 5,
            around=world.process(2),
        ),
    ):
        pass
    assert list_leases(lake) == []  # `a`, too


# ---- taking over


def test_a_process_that_is_gone_from_this_machine_loses_at_once(lake: Lake, world: World) -> None:
    leave_behind(lake, world.process(1))
    del world.processes[1]
    reported: list[str] = []
    with hold_leases(lake, ["n"], "run 2", 0, reported.append, around=world.process(2)):
        assert world.passed_s == 0
    assert [
        line.startswith("taken over: run 1 of s (host host-here, process 1") for line in reported
    ] == [True]


def test_another_process_with_the_same_number_is_not_the_holder(lake: Lake, world: World) -> None:
    leave_behind(lake, world.process(1))
    world.processes[1] = 11
    with hold_leases(lake, ["n"], "run 2", 0, silent, around=world.process(2)):
        assert world.passed_s == 0


def test_on_another_machine_two_minutes_of_silence_must_be_seen(lake: Lake, world: World) -> None:
    """Its process table is not ours: that no process has that number here says nothing."""
    leave_behind(lake, world.process(1, "there"))
    with hold_leases(lake, ["n"], "run 2", None, silent, around=world.process(9)):
        assert 120 <= world.passed_s <= 123


def test_what_is_long_dead_by_the_clock_is_watched_for_two_heartbeats_only(
    lake: Lake, world: World
) -> None:
    leave_behind(lake, world.process(1, "there"))
    world.time_s += 3600
    with hold_leases(lake, ["n"], "run 2", None, silent, around=world.process(9)):
        assert 60 <= world.passed_s - 3600 <= 63


@pytest.mark.parametrize("shift_s", [-3600.0, 3600.0])
def test_a_clock_that_jumps_neither_steals_nor_waits_for_ever(
    lake: Lake, world: World, shift_s: float
) -> None:
    """The holder's clock is an hour off and it beats every 30 s until it dies after 300 s; then 120
    s of silence are enough.
    """
    leave_behind(lake, world.process(1, "there"))
    world.wall_shift_s = shift_s
    for second in range(30, 301, 30):
        world.at[second] = lambda second=second: rewrite(lake, beats=second, beaten_at=1e9 + second)  # type: ignore[misc]
    with hold_leases(lake, ["n"], "run 2", None, silent, around=world.process(9)):
        assert 360 <= world.passed_s <= 425


def test_a_holder_that_was_taken_over_knows_it_and_gives_back_only_what_it_has(
    lake: Lake, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "BEAT_S", 0.01)
    reported: list[str] = []
    lost = threading.Event()
    with hold_leases(
        lake, ["n", "o"], "run 1", None, reported.append, on_loss=lost.set, around=world.process(1)
    ) as held:
        world.processes[1] = 99  # to others it looks dead
        with hold_leases(lake, ["n"], "run 2", None, silent, around=world.process(2)):
            assert lost.wait(HANG_S)
            assert held.lost == ("n",)
            assert [(one.name, one.owner) for one in list_leases(lake)] == [
                ("n", "run 2"),
                ("o", "run 1"),
            ]
    assert reported[0].startswith("lost n to another run")
    assert "run 2 (host" in reported[0]
    assert list_leases(lake) == []


def test_heartbeats_are_seen_and_survive_a_disk_that_refuses(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "BEAT_S", 0.01)
    refuse = threading.Event()

    def write(path: Path, data: bytes) -> None:
        if refuse.is_set():
            raise LakeError("no room")
        write_whole(path, data)

    monkeypatch.setattr(leases, "write_whole", write)
    with hold_leases(lake, ["n"], "run 1", None, silent):
        wait_for(lambda: list_leases(lake)[0].beats >= 2)
        refuse.set()
        time.sleep(0.05)
        before = list_leases(lake)[0].beats
        refuse.clear()
        wait_for(lambda: list_leases(lake)[0].beats > before)
    assert list_leases(lake) == []


def wait_for(holds: Callable[[], bool]) -> None:
    assert wait_until(holds, pause_s=0.005)


def test_stale_is_dead_here_or_silent_by_the_clock(lake: Lake, world: World) -> None:
    leave_behind(lake, world.process(1))
    (lease,) = list_leases(lake)
    assert not is_stale(lease, world.process(2))
    world.time_s += 121
    assert is_stale(lease, world.process(2))
    world.time_s -= 121
    del world.processes[1]
    assert is_stale(lease, world.process(2))
    assert not is_stale(lease, world.process(2, "there"))


# ---- the real process table


def test_births_of_real_processes() -> None:
    assert find_birth(os.getpid()) == find_birth(os.getpid()) != find_birth(1)
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child_birth = find_birth(child.pid)
    assert child_birth is not None
    wait_for(
        lambda: find_birth(child.pid) is None
    )  # a zombie: it has ended, and nobody has waited for it yet
    child.wait()
    assert find_birth(child.pid) is None
    assert name_place() == HERE.place


def test_kill_nine_leaves_a_lease_that_the_next_process_takes_at_once(lake: Lake) -> None:
    code = f"""
import time
from pathlib import Path
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.leases import hold_leases
with hold_leases(Lake(Path({str(lake.root)!r})), ["n"], "run 1", None, print):
    print("held", flush=True)
    time.sleep({HANG_S})
"""
    child = subprocess.Popen([sys.executable, "-c", code], cwd=CHECKOUT, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    with pytest.raises(LeaseError, match="run 1"), hold_leases(lake, ["n"], "run 2", 0, silent):
        pass
    child.kill()
    child.wait()
    child.stdout.close()
    with hold_leases(lake, ["n"], "run 2", 0, silent):
        assert [one.owner for one in list_leases(lake)] == ["run 2"]


# ---- mutual exclusion


def contend(lake: Lake, n_workers: int, turns: int, names: tuple[str, ...]) -> tuple[int, int]:
    """Everybody takes all of `names` a few times; returns how often a turn was had, and the most
    that had one at once.
    """
    guard, inside, most, had = threading.Lock(), 0, 0, 0
    around = dataclasses.replace(HERE, sleep=lambda _: time.sleep(0.001))

    def work(number: int) -> None:
        nonlocal inside, most, had
        for _ in range(turns):
            with hold_leases(
                lake,
                names if number % 2 else names[::-1],
                f"worker {number}",
                None,
                silent,
                around=around,
            ):
                with guard:
                    inside, had = inside + 1, had + 1
                    most = max(most, inside)
                time.sleep(0.0005)
                with guard:
                    inside -= 1

    with ThreadPoolExecutor(n_workers) as pool:
        list(pool.map(work, range(n_workers)))
    return had, most


@settings(max_examples=4)
@given(n_workers=st.integers(2, 6), turns=st.integers(1, 4))
def test_at_most_one_holds(
    tmp_path_factory: pytest.TempPathFactory, n_workers: int, turns: int
) -> None:
    lake = make_lake(tmp_path_factory.mktemp("contended"))
    assert contend(lake, n_workers, turns, ("a", "b")) == (n_workers * turns, 1)


def test_at_most_one_holds_in_a_bucket(bucket: Bucket) -> None:
    lake = open_lake(f"{bucket.url}/x", create=True)
    assert contend(lake, 3, 1, ("a",)) == (3, 1)
    assert list_leases(lake) == []
