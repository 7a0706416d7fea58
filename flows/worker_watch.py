"""Local workers that stay: Dask's nanny starts a worker that died again, but gives up where that one dies while it starts.

Then nobody would do the work that is left, and the run would wait for ever. Here another nanny takes the place of such a one.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOOK_S = 2.0


@contextmanager
def keep_workers(cluster: Any) -> Iterator[None]:
    """While the block runs, each worker of a `SpecCluster` of nannies is replaced that was gone at two looks in a row."""
    stop = threading.Event()
    watch = threading.Thread(target=_watch, args=(cluster, stop), daemon=True)
    watch.start()
    try:
        yield
    finally:
        stop.set()
        watch.join()


def _watch(cluster: Any, stop: threading.Event) -> None:
    before: set[object] = set()
    while not stop.wait(_LOOK_S):
        gone = {name for name, nanny in dict(cluster.workers).items() if not nanny.is_alive()}
        for name in gone & before:
            cluster.loop.add_callback(cluster.workers.pop(name).close)
        before = gone - before
        cluster.scale(len(cluster.worker_spec))  # starts what is missing
