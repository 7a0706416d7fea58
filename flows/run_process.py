"""A run in a process of its own, for `judgelake.run`: a script or notebook keeps its event loop,
signal handlers and main module to itself, and Prefect's settings are read afresh for each run.

The child reads the command's words as a line of JSON from standard input and answers in JSON on
standard output; everything else that it prints goes to standard error. When its parent ends, it
stops as it does on SIGTERM.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from typing import IO, Any, NoReturn, cast

from judgelake.flows.cli import make_parser
from judgelake.flows.process_start import prepare_process
from judgelake.tasks import errors
from judgelake.tasks.errors import ExitCode, JudgelakeError, RunError, find_code, redact
from judgelake.tasks.runs.summary import RunEnd


def run_apart(words: Sequence[str]) -> RunEnd:
    """Run the command `words` in a child; raises its JudgelakeError, and RunError where the exit
    code is not 0. Each KeyboardInterrupt is passed on as a Ctrl-C.
    """
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "judgelake.flows.run_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # a Ctrl-C in the terminal is passed on here, once
    )
    with child:
        order, answer, lines = (
            cast("IO[str]", pipe) for pipe in (child.stdin, child.stdout, child.stderr)
        )
        # Past the pipe's buffer, which would be written again when the pipe is closed.
        with contextlib.suppress(BrokenPipeError):  # it ended at once; its last lines follow
            os.write(order.fileno(), f"{json.dumps(list(words))}\n".encode())
        _pass_on(child, lines)
        answer_text = answer.read()
    return _read_end(json.loads(answer_text) if answer_text else {}, child.returncode)


def _pass_on(child: subprocess.Popen[str], lines: IO[str]) -> None:
    """Write the child's lines to this process's standard error, until the child ends."""
    while True:
        try:
            for line in lines:
                sys.stderr.write(line)
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
        else:
            return


def _read_end(answer: Mapping[str, Any], status: int) -> RunEnd:
    if "error" in answer:
        raise getattr(errors, answer["error"], JudgelakeError)(answer["message"])
    if "code" not in answer:
        raise RunError(
            ExitCode.CRASH,
            [
                f"run: its process ended with status {status}; expected how it ended; see its "
                f"last words on standard error"
            ],
        )
    end = RunEnd(ExitCode(answer["code"]), tuple(answer["lines"]), answer["run_id"])
    if end.code:
        raise RunError(end.code, end.lines)
    return end


def main() -> NoReturn:
    """The child process: run the command that the parent sends, and answer how it ended."""
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    words = json.loads(sys.stdin.readline())
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    prepare_process()
    end = _run(words)
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(answer, "w", encoding="utf-8") as pipe, contextlib.suppress(BrokenPipeError):
        json.dump(end, pipe)
        pipe.flush()
    os._exit(0)  # as `flows.cli.main` ends: threads of prefect and dask are still alive


def _run(words: Sequence[str]) -> dict[str, object]:
    from judgelake.flows.run_command import run_suite

    try:
        end = run_suite(make_parser().parse_args(words))
    except JudgelakeError as error:
        public = [kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__]
        return {"error": public[0].__name__, "message": redact(str(error))}
    except KeyboardInterrupt as error:
        lines = ["stopped; run the same again to go on"]
        return {"code": find_code(error), "lines": lines, "run_id": ""}
    except Exception:  # a bug: every error that a user can repair is a JudgelakeError
        sys.stderr.write(redact(traceback.format_exc()))
        return {}
    return {"code": end.code, "lines": end.lines, "run_id": end.run_id}


def _stop_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
