"""A local worker whose nanny has given up is replaced."""

import os

import pytest
from distributed import Client, Nanny, Scheduler, SpecCluster

from flows.worker_watch import keep_workers


def work_on(client: Client) -> int:
    pid: int = client.submit(os.getpid, pure=False).result(60)
    return pid


@pytest.mark.full
def test_a_worker_without_its_nanny_is_replaced() -> None:
    scheduler = {"cls": Scheduler, "options": {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"}}
    workers = {"one": {"cls": Nanny, "options": {"nthreads": 1, "dashboard": False, "silence_logs": 50}}}
    with (
        SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as cluster,  # type: ignore[no-untyped-call]
        keep_workers(cluster),
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        first = work_on(client)
        cluster.sync(cluster.workers["one"].close)  # as one that has given up: nobody starts its worker again
        assert work_on(client) != first
