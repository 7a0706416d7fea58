"""`judgelake worker`: starts a Dask worker with its slots for a scheduler that runs elsewhere; what
the worker process does at its start is `flows.worker`.
"""

import argparse
import asyncio
import logging
import signal
import socket
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from judgelake.flows.devices import list_environments
from judgelake.flows.runners import (
    ENDPOINT_SLOT,
    GPU_SLOT,
    METRIC_SLOT,
    WITHOUT_PAGES,
    quieten_prefect,
    refuse_open_scheduler,
)
from judgelake.tasks.errors import ClusterError, ExitCode, SuiteError

_CONNECT_S = 60.0
"""How long a worker tries to join its scheduler."""


def run_worker(options: argparse.Namespace) -> int:
    """Work for a scheduler; returns 0 after a signal, 2 once the scheduler is gone."""
    slots = {
        ENDPOINT_SLOT: options.endpoint,
        METRIC_SLOT: options.metric,
    }
    environments = list_environments(options.gpu) if options.gpu else []
    slots = {slot: n for slot, n in slots.items() if n}
    if not slots and not environments:
        raise SuiteError(
            "worker: it has no slot; expected at least one; give --endpoint N, --metric N or --gpu"
        )
    if not options.scheduler:
        raise SuiteError(
            "worker: no scheduler; expected --scheduler tls://HOST:8786 or "
            "JUDGELAKE_SCHEDULER; start one with `dask scheduler`"
        )
    refuse_open_scheduler(options.scheduler, without_tls=options.without_tls)
    quieten_prefect()  # before anything imports prefect; the worker process inherits it
    import dask

    from judgelake.flows.cluster import refuse_other_code

    refuse_other_code(options.scheduler)
    kinds = [*slots, *([GPU_SLOT] if environments else [])]
    name = options.name or f"{socket.gethostname()}-{'-'.join(kinds).lower()}"
    if len(environments) == 1:  # one process has all its slots
        processes = {name: (slots | {GPU_SLOT: 1}, environments[0])}
    else:
        processes = {name: (slots, dict[str, str]())} if slots else {}
        processes |= {
            f"{name}-{number}": ({GPU_SLOT: 1}, environment)
            for number, environment in enumerate(environments)
        }
    with dask.config.set(WITHOUT_PAGES):
        return asyncio.run(_work(options.scheduler, name, processes))


_Process = tuple[dict[str, int], Mapping[str, str]]
"""The slots of a worker process, and what is in its environment."""


async def _work(scheduler: str, name: str, processes: Mapping[str, _Process]) -> int:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    workers = [
        _make_nanny(scheduler, process, *settings) for process, settings in processes.items()
    ]
    try:
        await asyncio.gather(*workers)
    except (OSError, TimeoutError, RuntimeError) as error:
        raise ClusterError(
            f"scheduler {scheduler}: the worker could not join ({error}); see that both reach "
            f"each other"
        ) from None
    total = sum((Counter(slots) for slots, _ in processes.values()), Counter[str]())
    words = ", ".join(f"{n} {slot}" for slot, n in total.items())
    sys.stderr.write(
        f"judgelake worker {name}: works for {scheduler} with {words}; Ctrl-C or SIGTERM ends it\n"
    )
    ended = [asyncio.create_task(worker.finished()) for worker in workers]
    await asyncio.wait(
        {*ended, asyncio.create_task(stopped.wait())}, return_when=asyncio.FIRST_COMPLETED
    )
    await asyncio.gather(*(worker.close(timeout=5) for worker in workers))
    if stopped.is_set():
        return ExitCode.DONE
    sys.stderr.write(f"judgelake worker {name}: the scheduler {scheduler} is gone; ended\n")
    return ExitCode.CRASH


def _make_nanny(
    scheduler: str, name: str, slots: dict[str, int], environment: Mapping[str, str]
) -> Any:
    from distributed import Nanny

    return Nanny(
        scheduler,
        name=name,
        nthreads=sum(slots.values()),
        resources=slots,
        memory_limit=0,
        death_timeout=_CONNECT_S,
        dashboard=False,
        silence_logs=logging.CRITICAL,
        preload=["judgelake.flows.worker"],
        env=dict(environment),
    )
