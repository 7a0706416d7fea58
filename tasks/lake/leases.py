"""Leases: at most one run at a time holds a name (`judge-<judge_id>`, `ingest-<benchmark>`) of a
lake, on a disk or in a bucket.

A lease is a file `<lake>/_leases/<name>/<epoch>.json`, created only where it does not exist yet.
The file of the highest epoch is the one that counts, until it says `released`. A run takes a lease
over by creating the file of the next epoch. Which names a stage needs is `tasks.runs.lease_names`.
"""

import contextlib
import dataclasses
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from judgelake.tasks.errors import LakeError, LeaseError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.processes import find_birth, name_place
from judgelake.tasks.lake.storage import (
    LakePath,
    create_exclusively,
    list_files,
    read_file,
    remove_file,
    remove_folder,
    write_whole,
)

COMPACTION = "compact"
"""The lease of whatever merges part files or takes rows out of them."""


RUN = "run-"
"""Beginning of the name of a run's own lease."""


def name_lease_of_judge(judge_id: str) -> str:
    """The lease of one judge."""
    return f"judge-{judge_id}"


def name_lease_of_run(run_id: str) -> str:
    """The lease by which a run shows that it lives."""
    return f"{RUN}{run_id}"


def name_benchmark_leases(benchmark: str) -> list[str]:
    """The leases of all stages that write rows of a benchmark, except judges and reports."""
    return [f"ingest-{benchmark}", f"metrics-{benchmark}", f"matchups-{benchmark}"]


@dataclass(frozen=True)
class Surroundings:
    """Clocks, process table and name of this process; tests give others."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    find_birth: Callable[[int], int | None] = find_birth
    host: str = field(default_factory=socket.gethostname)
    place: str = field(default_factory=name_place)
    pid: int = field(default_factory=os.getpid)


HERE = Surroundings()
"""This process, as it was at the import: nothing here forks."""


FOLDER = "_leases"
BEAT_S = 30.0
"""Seconds between two heartbeats of a holder."""
STALE_S = 120.0
"""A lease without a heartbeat for this long counts as abandoned: four heartbeats were missed."""
OBSERVE_S = 60.0
"""Clocks of two machines differ: a lease that looks stale by its own time is still watched this
long, two heartbeats, before it is taken over.
"""
# a run that waits for a lease reports it so often
REPORT_EVERY_S = 60.0
POLL_S = 2.0
"""Seconds between two looks at a lease that another holds; each look is a listing."""


@dataclass(frozen=True)
class Lease:
    """What a lease file says. `owner` names the run; `place` and `born` name its process; `beats`
    counts its signs of life.
    """

    name: str
    epoch: int
    owner: str
    host: str
    place: str
    pid: int
    born: int
    command: str
    since: float
    beats: int
    beaten_at: float
    released: bool = False

    def describe(self) -> str:
        """Who holds it, for a person."""
        since = datetime.fromtimestamp(self.since, UTC)
        return (
            f"{self.owner} (host {self.host}, process {self.pid}, since "
            f"{since:%Y-%m-%d %H:%M:%S} UTC) holds {self.name}"
        )


@dataclass
class Held:
    """The leases of one holder; `lost` are the names that another holder took over, because it saw
    no heartbeat of ours for too long.

    `waited`: another holder had one of them first, so what was read before may be out of date.
    """

    lost: tuple[str, ...] = ()
    waited: bool = False


@contextlib.contextmanager
def hold_leases(
    lake: Lake,
    names: Sequence[str],
    owner: str,
    wait_s: float | None,
    report_line: Callable[[str], None],
    *,
    on_loss: Callable[[], None] = lambda: None,
    should_stop: Callable[[], bool] = lambda: False,
    around: Surroundings = HERE,
) -> Iterator[Held]:
    """Hold all of `names`, taken in sorted order; where another holder has one it waits: for ever
    (None), or for `wait_s` seconds and then raises LeaseError.

    While it waits, `report_line` gets a line with the present holder, at once and every minute;
    another line says when a lease was lost, and `on_loss` is called then, from a thread.
    `should_stop` ends the wait with KeyboardInterrupt.
    """
    holder = _Holder(lake, owner, report_line, on_loss, around)
    ended = threading.Event()
    beating = threading.Thread(target=_beat_until, args=(holder, ended), daemon=True)
    try:
        beating.start()
        for name in sorted(set(names)):
            holder.take(name, wait_s, should_stop)
        yield holder.held
    finally:
        ended.set()
        beating.join(timeout=BEAT_S)
        holder.release()


def list_leases(lake: Lake, beginning: str = "", *, released: bool = False) -> list[Lease]:
    """The leases that are held now, stale ones too, by name; only those whose names begin so.
    `released`: also those that are not.
    """
    folder = lake.root / FOLDER
    names = sorted(
        {
            path.parent.name
            for path in list_files(folder, ".json")
            if path.parent.name.startswith(beginning)
        }
    )
    leases = [_find_highest(folder / name) for name in names]
    return [lease for lease in leases if lease is not None and (released or not lease.released)]


def remove_lease(lake: Lake, name: str) -> None:
    """Delete a lease whose name is never used again."""
    remove_folder(lake.root / FOLDER / name)


def is_dead(lease: Lease, around: Surroundings = HERE) -> bool:
    """Whether its process ran on this machine and no longer exists."""
    return lease.place == around.place and around.find_birth(lease.pid) != lease.born


def is_stale(lease: Lease, around: Surroundings = HERE) -> bool:
    """Whether it looks abandoned: its process is gone, or by this clock it gave no sign of life for
    two minutes.
    """
    return is_dead(lease, around) or around.wall() - lease.beaten_at > STALE_S


class _Watch:
    """Whether a lease that others hold may be taken over, by what this process has seen of it and
    its own monotonic clock.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._seen: Lease | None = None
        self._since = 0.0

    def may_take(self, lease: Lease) -> bool:
        now = self._around.monotonic()
        if self._seen != lease:
            self._seen, self._since = lease, now
        unchanged_s = now - self._since
        if lease.released or is_dead(lease, self._around) or unchanged_s >= STALE_S:
            return True
        return unchanged_s >= OBSERVE_S and is_stale(lease, self._around)


class _Holder:
    """Takes, renews and gives back leases for one owner."""

    def __init__(
        self,
        lake: Lake,
        owner: str,
        report_line: Callable[[str], None],
        on_loss: Callable[[], None],
        around: Surroundings,
    ) -> None:
        self.held = Held()
        self._folder = lake.root / FOLDER
        self._owner, self._report_line, self._on_loss, self._around = (
            owner,
            report_line,
            on_loss,
            around,
        )
        self._leases: dict[str, Lease] = {}
        self._guard = threading.Lock()

    def take(self, name: str, wait_s: float | None, should_stop: Callable[[], bool]) -> None:
        """Take one name, waiting for it; raises LeaseError."""
        around = self._around
        began, reported_s, watch = around.monotonic(), -REPORT_EVERY_S, _Watch(around)
        while not self._try(name, watch):
            other = _find_highest(self._folder / name)
            waited = around.monotonic() - began
            if other is None or other.released:
                continue
            self.held.waited = True
            if wait_s is not None and waited >= wait_s:
                words = (
                    "run again when it has ended, or leave out --no-wait and --wait to wait for it"
                )
                raise LeaseError(
                    f"{name}: {other.describe()}; expected it free within {wait_s:.0f} s; {words}"
                )
            if should_stop():
                raise KeyboardInterrupt
            if waited - reported_s >= REPORT_EVERY_S:
                reported_s = waited
                self._report_line(f"waiting: {other.describe()}")
            around.sleep(POLL_S if wait_s is None else max(0.0, min(POLL_S, wait_s - waited)))

    def _try(self, name: str, watch: _Watch) -> bool:
        folder = self._folder / name
        highest = _find_highest(folder)
        if highest is not None and not watch.may_take(highest):
            return False
        lease = self._make(name, 1 if highest is None else highest.epoch + 1)
        if not create_exclusively(_file(folder, lease.epoch), _encode(lease)):
            return False
        epochs = _list_epochs(folder)
        if (
            max(epochs, default=lease.epoch) > lease.epoch
        ):  # the epoch that was seen was over long ago
            return False
        with self._guard:
            self._leases[name] = lease
        if highest is not None and not highest.released:
            self._report_line(f"taken over: {highest.describe()}, and gives no sign of life")
        for epoch in epochs:
            if (
                epoch < lease.epoch - 1
            ):  # the last one stays, so that no listing made meanwhile can miss both it and ours
                remove_file(_file(folder, epoch))
        return True

    def _make(self, name: str, epoch: int) -> Lease:
        around, now = self._around, self._around.wall()
        command = " ".join(["judgelake", *sys.argv[1:]])
        return Lease(
            name,
            epoch,
            self._owner,
            around.host,
            around.place,
            around.pid,
            around.find_birth(around.pid) or 0,
            command,
            now,
            0,
            now,
        )

    def beat(self) -> None:
        """Give a sign of life on every lease; one that was taken over is lost."""
        with self._guard:
            for name, lease in list(self._leases.items()):
                if max(_list_epochs(self._folder / name), default=0) > lease.epoch:
                    self._lose(name)
                    continue
                self._leases[name] = beaten = dataclasses.replace(
                    lease, beats=lease.beats + 1, beaten_at=self._around.wall()
                )
                write_whole(_file(self._folder / name, lease.epoch), _encode(beaten))

    def _lose(self, name: str) -> None:
        del self._leases[name]
        self.held.lost += (name,)
        other = _find_highest(self._folder / name)
        by = f": {other.describe()}" if other else ""
        self._report_line(
            f"lost {name} to another run, which saw no sign of life of this one for "
            f"{STALE_S:.0f} s{by}; ending"
        )
        self._on_loss()

    def release(self) -> None:
        """Give everything back; the last file stays and says so, since epochs must never begin
        again.
        """
        with (
            self._guard,
            contextlib.suppress(LakeError),
        ):  # whoever comes next finds this process gone
            for name, lease in self._leases.items():
                write_whole(
                    _file(self._folder / name, lease.epoch),
                    _encode(dataclasses.replace(lease, released=True)),
                )


def _beat_until(holder: _Holder, ended: threading.Event) -> None:
    while not ended.wait(BEAT_S):
        with contextlib.suppress(
            LakeError
        ):  # a full disk or a silent bucket: the next beat tries again
            holder.beat()


def _file(folder: LakePath, epoch: int) -> LakePath:
    return folder / f"{epoch:012d}.json"


def _list_epochs(folder: LakePath) -> list[int]:
    return [int(path.stem) for path in list_files(folder, ".json")]


def _find_highest(folder: LakePath) -> Lease | None:
    """The lease of the highest epoch; None where there never was one."""
    while epochs := _list_epochs(folder):
        data = read_file(_file(folder, max(epochs)))
        if data is not None:  # else a newer one has replaced it since the listing
            return _decode(folder, data)
    return None


def _encode(lease: Lease) -> bytes:
    return json.dumps(dataclasses.asdict(lease)).encode()


def _decode(folder: LakePath, data: bytes) -> Lease:
    try:
        return Lease(**json.loads(data))
    except (ValueError, TypeError) as error:
        raise LakeError(
            f"{folder}: cannot be read as a lease ({error}); expected one of this version of "
            f"judgelake; "
            "when no run uses the lake, delete the folder"
        ) from None


class SteadyClock:
    """Starts at the time it is made, or at `not_before` where that is later, and goes on with the
    monotonic clock.
    """

    def __init__(
        self,
        not_before: datetime | None = None,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        now = wall()
        self._start = (
            now if not_before is None else max(now, not_before + timedelta(microseconds=1))
        )
        self._monotonic, self._began = monotonic, monotonic()

    def now(self) -> datetime:
        """The time, UTC."""
        return self._start + timedelta(seconds=self._monotonic() - self._began)

    def elapsed_s(self) -> float:
        """Seconds since it was made."""
        return self._monotonic() - self._began
