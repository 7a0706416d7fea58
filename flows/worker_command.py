"""`judgelake worker`: starts a Dask worker with its slots for a scheduler that runs elsewhere; what
the worker process does at its start is `flows.worker`.
"""

import argparse
import asyncio
import logging
import signal
import socket
import sys
from typing import Any

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
        GPU_SLOT: int(options.gpu),
    }
    slots = {slot: n for slot, n in slots.items() if n}
    if not slots:
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
    name = options.name or f"{socket.gethostname()}-{'-'.join(slots).lower()}"
    with dask.config.set(WITHOUT_PAGES):
        return asyncio.run(_work(options.scheduler, name, slots))


async def _work(scheduler: str, name: str, slots: dict[str, int]) -> int:
    from distributed import Nanny

    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    worker: Any = Nanny(
        scheduler,
        name=name,
        nthreads=sum(slots.values()),
        resources=slots,
        memory_limit=0,
        death_timeout=_CONNECT_S,
        dashboard=False,
        silence_logs=logging.CRITICAL,
        preload=["judgelake.flows.worker"],
    )
    try:
        await worker
    except (OSError, TimeoutError, RuntimeError) as error:
        raise ClusterError(
            f"scheduler {scheduler}: the worker could not join ({error}); see that both reach "
            f"each other"
        ) from None
    words = ", ".join(f"{n} {slot}" for slot, n in slots.items())
    sys.stderr.write(
        f"judgelake worker {name}: works for {scheduler} with {words}; Ctrl-C or SIGTERM ends it\n"
    )
    ended = asyncio.create_task(worker.finished())
    await asyncio.wait(
        {ended, asyncio.create_task(stopped.wait())}, return_when=asyncio.FIRST_COMPLETED
    )
    if stopped.is_set():
        await worker.close(timeout=5)
        return ExitCode.DONE
    sys.stderr.write(f"judgelake worker {name}: the scheduler {scheduler} is gone; ended\n")
    return ExitCode.CRASH
