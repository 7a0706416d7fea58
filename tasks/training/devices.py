"""What the processes of one training send each other: sums of numbers and of gradients, through
accelerate. A training in one process sends nothing.

Imports torch: only what trains a model imports this module.
"""

import os
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, overload

import torch

from judgelake.tasks.errors import BackendError

_PATIENCE = timedelta(minutes=30)
"""How long a process waits for the others, who may be writing a checkpoint."""
_Value = TypeVar("_Value")


class LostPeersError(Exception):
    """Another process of this training is gone, or did not come in 30 minutes."""


class Devices:
    """One process of a training that `count` processes share, one a device; `rank` counts from 0.

    Every process calls the same methods in the same order. With one process all of them return
    what they are given.
    """

    def __init__(self, rank: int = 0, count: int = 1, device: Any = "cpu") -> None:
        self.rank, self.count, self._device = rank, count, device

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes and prints."""
        return self.rank == 0

    @overload
    def share(self, values: range) -> range: ...
    @overload
    def share(self, values: Sequence[_Value]) -> Sequence[_Value]: ...
    def share(self, values: Any) -> Any:
        """This process's part: every `count`-th of the values, from the `rank`-th."""
        return values[self.rank :: self.count] if self.count > 1 else values

    def add(self, values: Iterable[float]) -> list[float]:
        """The sums over all processes, in float64."""
        if self.count == 1:
            return [*values]
        given = torch.tensor([*values], dtype=torch.float64, device=self._device)
        return [float(value) for value in self._reduce(given)]

    def add_gradients(self, weights: Sequence[Any]) -> None:
        """Give each weight the sum of all processes' gradients. A weight that none has a gradient
        of keeps none, as in one process.
        """
        if self.count == 1:
            return
        counts = self.add(weight.grad is not None for weight in weights)
        for weight, count in zip(weights, counts, strict=True):
            if count:
                own = torch.zeros_like(weight) if weight.grad is None else weight.grad
                weight.grad = self._reduce(own)

    def gather(self, found: _Value) -> list[_Value]:
        """What each process found, in the order of their ranks."""
        if self.count == 1:
            return [found]
        from accelerate.utils import gather_object

        try:
            gathered: list[_Value] = gather_object([found])
        except RuntimeError as error:
            raise LostPeersError(str(error)) from error
        return gathered

    def wait(self) -> None:
        """Go on when all processes are here."""
        self.add([1])

    def _reduce(self, own: torch.Tensor) -> torch.Tensor:
        from accelerate.utils import reduce

        try:
            summed: torch.Tensor = reduce(own, "sum")
        except RuntimeError as error:
            raise LostPeersError(str(error)) from error
        return summed


def join_devices(rank: int, count: int, meeting: Path, on_cpu: bool) -> Devices:
    """Meet the other processes of a training at the file `meeting`: through gloo on the processor,
    through NCCL on GPUs. Raises BackendError where accelerate is missing or knows no way.
    """
    try:
        from accelerate import PartialState
        from accelerate.utils import check_cuda_p2p_ib_support
    except ImportError as error:
        raise BackendError(
            f"training on {count} devices: the package accelerate is missing; expected it; run "
            f"pip install 'judgelake[local]'"
        ) from error
    # accelerate reads these; each process sees its own GPU alone, so that it is the first to all
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": "0"}
    os.environ |= {"LOCAL_WORLD_SIZE": str(count)}
    if not on_cpu and not check_cuda_p2p_ib_support():
        os.environ |= {"NCCL_P2P_DISABLE": "1", "NCCL_IB_DISABLE": "1"}
    met: dict[str, Any] = {"init_method": meeting.as_uri(), "rank": rank, "world_size": count}
    try:
        state = PartialState(cpu=on_cpu, timeout=_PATIENCE, **met)
    except RuntimeError as error:
        raise LostPeersError(str(error)) from error
    if state.num_processes != count:
        raise BackendError(
            f"training on {count} devices: this machine's devices cannot add up gradients; "
            f"expected NVIDIA GPUs or the processor; train on one device"
        )
    return Devices(rank, count, state.device)
