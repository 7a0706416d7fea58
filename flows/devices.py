"""Which devices the processes of local models run on, workers and trainings: one process a GPU,
that sees no other; on a machine without one, they share the processor.

The environment of such a process is set before torch is imported there.
"""

import os
from pathlib import Path

from judgelake.tasks.errors import SuiteError

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def list_environments(
    n_processes: int | None = None, option: str = "--gpu"
) -> list[dict[str, str]]:
    """What each process of local models has in its environment, for `n_processes` of them or for
    one a GPU; raises SuiteError where there are fewer GPUs than the command's `option` asks for.

    Without a GPU each gets its share of the processor's cores: Dask gives a worker one thread.
    """
    devices = _list_devices()
    if devices and n_processes is not None and n_processes > len(devices):
        raise SuiteError(
            f"{option} {n_processes}: this machine shows {len(devices)} GPUs "
            f"({_VISIBLE}={','.join(devices)}); expected at most as many"
        )
    count = n_processes or max(1, len(devices))
    threads = {"OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // count))}
    if not devices:
        return [threads] * count
    return [threads | {_VISIBLE: device} for device in devices[:count]]


def _list_devices() -> list[str]:
    """The GPUs that this process may use, by the names that CUDA has for them."""
    visible = os.environ.get(_VISIBLE)
    if visible is not None:
        return [name.strip() for name in visible.split(",") if name.strip()]
    return [str(number) for number in range(len([*Path("/dev").glob("nvidia[0-9]*")]))]
