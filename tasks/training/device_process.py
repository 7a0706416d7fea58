"""One process of a training on several devices, started by `tasks.training.launcher`: `python -P -m
judgelake.tasks.training.device_process FOLDER RANK COUNT`.

It answers in lines of JSON on standard output; all else goes to standard error. The line `stop` on
standard input ends the training after a checkpoint, the end of standard input ends it at once: the
process that watches is gone.
"""

import json
import os
import pickle
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn

from judgelake.tasks import errors
from judgelake.tasks.errors import JudgelakeError, redact
from judgelake.tasks.training.launcher import LOST_PEERS


def main() -> NoReturn:
    """Train as one of several processes, and end with how it went."""
    folder, rank, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    stopping = threading.Event()
    threading.Thread(target=_hear, args=(stopping,), daemon=True).start()
    with os.fdopen(answer, "w", encoding="utf-8") as pipe:

        def say(message: dict[str, Any]) -> None:
            if rank == 0 or "error" in message:
                pipe.write(f"{json.dumps(message)}\n")
                pipe.flush()

        status = _train(folder, rank, count, say, stopping)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # torch's threads are still alive


def _train(folder: Path, rank: int, count: int, say: Any, stopping: threading.Event) -> int:
    """Train, say what came of it, and return the exit status."""
    from judgelake.tasks.backends.local.loading import find_device, import_torch

    try:
        import_torch()
        from judgelake.tasks.training.devices import LostPeersError, join_devices
        from judgelake.tasks.training.judge_training import train_part

        written = (folder / "job").read_bytes()  # by the launcher, where no other user can write
        order, selection, checkpoint = pickle.loads(written)  # noqa: S301
        on_cpu = find_device(order.base) == "cpu"
        try:
            devices = join_devices(rank, count, folder / "meeting", on_cpu)
            given = (order, selection, checkpoint, lambda line: say({"says": line}))
            say({"manifest": train_part(*given, stopping.is_set, devices)})
        except LostPeersError as error:
            sys.stderr.write(f"{redact(str(error))}\n")
            return LOST_PEERS
    except JudgelakeError as error:
        public = [kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__]
        say({"error": public[0].__name__, "message": redact(str(error))})
        return 1
    except KeyboardInterrupt:  # stopped, with a checkpoint
        return 0
    except Exception:  # a bug: every error that a user can repair is a JudgelakeError
        sys.stderr.write(redact(traceback.format_exc()))
        return 2
    return 0


def _hear(stopping: threading.Event) -> None:
    for _ in sys.stdin:
        stopping.set()
    os._exit(1)


if __name__ == "__main__":
    main()
