"""The workers of a run: its own, or those of a Dask scheduler that somebody else started, after a
check that they can do the run.

The checks themselves are `tasks.runs.workers` and `tasks.digests`; starting a worker is
`flows.worker_command`.
"""

import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, NamedTuple

from distributed import Client, Security

from judgelake.flows.devices import list_environments
from judgelake.flows.runners import (
    ENDPOINT_SLOT,
    GPU_SLOT,
    METRIC_SLOT,
    local_cluster,
    workers_here,
)
from judgelake.tasks.digests import describe_code, describe_differences
from judgelake.tasks.errors import ClusterError, JudgelakeError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.runs.workers import Probe, make_probe, probe_place
from judgelake.tasks.sources.registry import source_size
from judgelake.tasks.suite.judges import list_clients
from judgelake.tasks.suite.suite import Suite

_SMALL, _FEW = 2**20, 500
"""Bytes of input files, which is about 4,000 answers, and items of each benchmark: a run of fewer
is judged by workers in its own process.
"""
_CONNECT_S, _LOOK_S = 10.0, 1.0
"""How long a scheduler may take to answer, and the pause between two looks at its workers."""


class Workers(NamedTuple):
    """A scheduler's address, the total slots of each kind that its workers have, and the
    certificate that it asks for (None: what Dask's own configuration names).
    """

    address: str
    slots: Mapping[str, int]
    security: Security | None = None

    def count(self, slot: str) -> int:
        """Slots of one kind, at least 1: a run submits no work for a kind that it does not need."""
        return max(1, self.slots.get(slot, 0))


@contextmanager
def open_workers(
    lake: Lake,
    suite: Suite,
    run_id: str,
    stages: tuple[str, ...],
    scheduler: str | None,
    *,
    limit: int | None,
    wait: bool,
) -> Iterator[Workers]:
    """Local workers while the block runs, or those of `scheduler`; raises JudgelakeError where the
    latter cannot do the run. `limit`: how many items of each benchmark the run takes.
    """
    if scheduler is None:
        scores = suite.metrics or ("ingest" in stages and len(suite.benchmarks) > 1)
        slots = (ENDPOINT_SLOT, METRIC_SLOT) if scores else (ENDPOINT_SLOT,)
        devices = _list_devices(suite) if "judge" in stages else []
        if not devices and is_small(suite, limit):
            with workers_here(slots) as address:
                yield Workers(address, dict.fromkeys(slots, 1))
            return
        counts = dict.fromkeys(slots, 1) | {GPU_SLOT: len(devices)}
        with local_cluster(slots, devices, list_clients(suite.judges)) as (address, security):
            yield Workers(address, counts, security)
        return
    probes = _make_probes(lake, suite, run_id, scheduler) if "judge" in stages else {}
    workers = check_workers(scheduler, probes, wait=wait)
    if ENDPOINT_SLOT in probes:
        refuse_thin_share(suite.limits.concurrency, workers)
    yield workers


def is_small(suite: Suite, limit: int | None) -> bool:
    """Whether starting processes would take longer than the work: few items, or small files. Not so
    where JUDGELAKE_WORKERS is `processes`.
    """
    if os.environ.get("JUDGELAKE_WORKERS") == "processes":
        return False
    if limit is not None and limit <= _FEW:
        return True
    sizes = [source_size(benchmark.settings) for benchmark in suite.benchmarks.values()]
    return all(sizes) and sum(sizes) <= _SMALL


def _list_devices(suite: Suite) -> list[dict[str, str]]:
    """The environment of each worker that runs the suite's models: one a GPU, or one for all of
    them where a model is spread over several.
    """
    models = [
        endpoint
        for judge in suite.judges.values()
        for endpoint in judge.endpoints.values()
        if endpoint.slot == GPU_SLOT
    ]
    if any(getattr(model, "device_map", None) for model in models):
        return [{}]
    return list_environments() if models else []


def refuse_thin_share(concurrency: int, workers: Workers) -> None:
    """Raise ClusterError where `limits.concurrency` is less than one request for each endpoint
    slot.
    """
    if concurrency < workers.count(ENDPOINT_SLOT):
        raise ClusterError(
            f"scheduler {workers.address}: its workers have {workers.count(ENDPOINT_SLOT)} "
            f"endpoint slots, limits.concurrency is {concurrency}; "
            "expected at least one request for each slot; raise the limit, or start workers "
            "with fewer `--endpoint` slots"
        )


@contextmanager
def explain_loss(workers: Workers) -> Iterator[None]:
    """Turn the errors of dask and prefect after a scheduler has gone away into a ClusterError."""
    try:
        yield
    except JudgelakeError:
        raise
    except (Exception, CancelledError) as error:
        if _answers(workers):
            raise
        raise ClusterError(
            f"scheduler {workers.address}: went away during the run ({type(error).__name__}); "
            f"what was judged is kept; start it and its workers again, and run the same command "
            f"to go on"
        ) from None


def check_workers(address: str, probes: Mapping[str, Probe], *, wait: bool) -> Workers:
    """The workers of a scheduler, after a check that they run the same code as this process and
    that those with a slot of `probes` pass its probe.

    Unless `wait`, it is an error where no worker has a slot of `probes`.
    """
    with _connect(address) as client:
        workers = _wait_for_slots(client, address, tuple(probes), wait=wait)
        versions = {
            f"worker {name}": _versions(answer)
            for name, answer in client.run(describe_code, on_error="return").items()
        }
        _refuse_mix(address, {"the scheduler": _ask_scheduler(client), **versions})
        for slot, probe in probes.items():
            _refuse_unfit(
                client, address, [name for name, slots in workers.items() if slots.get(slot)], probe
            )
    return Workers(address, sum((Counter(slots) for slots in workers.values()), Counter()))


def refuse_other_code(address: str) -> None:
    """Raise JudgelakeError where a scheduler runs other code than this process, which is to work
    for it.
    """
    with _connect(address) as client:
        _refuse_mix(address, {"the scheduler": _ask_scheduler(client)})


def _make_probes(lake: Lake, suite: Suite, run_id: str, scheduler: str) -> dict[str, Probe]:
    """What the workers with each slot that the suite needs must be able to do."""
    if "//127." not in scheduler and any(
        endpoint.needs_standin
        for judge in suite.judges.values()
        for endpoint in judge.endpoints.values()
    ):
        raise ClusterError(
            f"scheduler {scheduler}: the suite has a judge with `backend: standin`, which "
            f"answers on this machine only; expected an "
            "endpoint that workers reach; use `backend: openai`, or run without --scheduler"
        )
    probe = make_probe(lake, suite, run_id, os.environ.get("PREFECT_API_URL"))
    asks: dict[str, Probe] = {judge.slot: probe for judge in suite.judges.values()}
    return asks | ({METRIC_SLOT: probe.without_keys()} if suite.metrics else {})


@contextmanager
def _connect(address: str, security: Security | None = None) -> Iterator[Client]:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(
            address,
            timeout=_CONNECT_S,
            set_as_default=False,
            name="judgelake-check",
            security=security,
        )
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"scheduler {address}: does not answer ({_first_line(error)}); expected a Dask "
            f"scheduler at tls://HOST:PORT that has the certificate of DASK_CONFIG; start one with "
            "`dask scheduler`, or correct the address"
        ) from None
    with client:
        yield client


def _answers(workers: Workers) -> bool:
    try:
        with _connect(workers.address, workers.security):
            return True
    except ClusterError:
        return False


def _wait_for_slots(
    client: Client, address: str, needed: tuple[str, ...], *, wait: bool
) -> dict[str, dict[str, int]]:
    """Address of a worker -> its slots, once every needed slot has one."""
    while True:
        joined: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
        workers = {
            name: {slot: int(n) for slot, n in worker["resources"].items()}
            for name, worker in joined.items()
        }
        absent = [slot for slot in needed if not any(slots.get(slot) for slots in workers.values())]
        if not absent:
            return workers
        if not wait:
            flags = " ".join(
                "--gpu" if slot == GPU_SLOT else f"--{slot.lower()} 1" for slot in absent
            )
            raise JudgelakeError(
                f"scheduler {address}: none of its {len(workers)} workers has a slot "
                f"{' or '.join(absent)}, so the run would wait forever; "
                f"start one with `judgelake worker --scheduler {address} {flags}`, or run with "
                f"--wait-for-workers"
            )
        time.sleep(_LOOK_S)


def _ask_scheduler(client: Client) -> Mapping[str, str]:
    try:
        answer: Mapping[str, str] = client.run_on_scheduler(describe_code)
    except Exception as error:  # unpickling failed: it lacks a package or this code
        return _versions(error)
    return answer


def _versions(answer: Mapping[str, str] | Exception) -> Mapping[str, str]:
    """The versions that a process answered with; an exception means that it has other code."""
    if not isinstance(answer, Exception):
        return answer
    return {**describe_code(), "judgelake": f"other than this or none ({_first_line(answer)})"}


def _refuse_mix(address: str, versions: Mapping[str, Mapping[str, str]]) -> None:
    lines = describe_differences(describe_code(), versions)
    if lines:
        listed = "\n  ".join(lines)
        raise JudgelakeError(
            f"scheduler {address}: other versions than here:\n  {listed}\nexpected the same "
            f"judgelake and packages everywhere, because they send "
            "each other Python objects; install the same image or infra/requirements.lock "
            "there and start them again"
        )


def _refuse_unfit(client: Client, address: str, workers: list[str], probe: Probe) -> None:
    lines = []
    for name, answer in client.run(probe_place, probe, workers=workers, on_error="return").items():
        problems = [_first_line(answer)] if isinstance(answer, Exception) else answer
        lines += [f"worker {name}: {problem}" for problem in problems]
    if lines:
        listed = "\n  ".join(lines)
        raise JudgelakeError(
            f"scheduler {address}: its workers cannot do this run:\n  {listed}\nexpected the "
            f"lake and the images under the same paths, and "
            "the endpoints' keys in each worker's own environment; mount or export them there "
            "and start the workers again"
        )


def _first_line(error: object) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
