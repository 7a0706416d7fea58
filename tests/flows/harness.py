"""Runs the `judgelake` command as a user would, over small benchmarks made here, and watches the
processes it starts.
"""

import io
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from judgelake.flows.sql_answers import answer
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.standin.process import StandinProcess
from judgelake.tasks.warehouse.warehouse import open_warehouse, run_sql
from tests.backends.asking import read_log

HANG_S = 900.0
"""How long anything is waited for. A busy machine stays far below it; only what hangs reaches it."""

ANSWERS = ("grey", "a dog", "two", "yes", "left of the house")
REFERENCES = (
    ["gray"] * 9 + ["blue"],
    ["dog"] * 7 + ["puppy"] * 3,
    ["2"] * 10,
    ["yes"] * 6 + ["no"] * 4,
    ["right"] * 10,
)


def write_benchmark(folder: Path, n_items: int, models: tuple[str, ...] = ("m1", "m2")) -> None:
    """A VQA benchmark in the official formats: answers cycle through five kinds, the second model
    answers the next kind.
    """
    folder.mkdir(parents=True, exist_ok=True)
    questions = [
        {"question_id": k, "image_id": k // 2, "question": f"What is in place {k}?"}
        for k in range(n_items)
    ]
    annotations = [
        {
            "question_id": k,
            "image_id": k // 2,
            "question_type": "what is",
            "answers": [{"answer": text} for text in REFERENCES[k % 5]],
        }
        for k in range(n_items)
    ]
    (folder / "questions.json").write_text(json.dumps({"questions": questions}))
    (folder / "annotations.json").write_text(json.dumps({"annotations": annotations}))
    for shift, model in enumerate(models):
        results = [{"question_id": k, "answer": ANSWERS[(k + shift) % 5]} for k in range(n_items)]
        (folder / f"results_{model}.json").write_text(json.dumps(results))


def write_suite(folder: Path, base_url: str, *, concurrency: int = 32, extra: str = "") -> Path:
    """A suite over `write_benchmark`'s files with three metrics and LAVE at `base_url`."""
    file = folder / "suite.yaml"
    file.write_text(f"""
name: small
benchmarks:
  small: {{source: vqa, questions: questions.json, references: annotations.json, answers: "results_{{model}}.json"}}
metrics: [vqa_accuracy, exact_match, soft_vqa_accuracy]
judges:
  lave: {{protocol: lave, backend: openai, model: standin/rules, base_url: "{base_url}", timeout_s: {HANG_S}, max_attempts: 3}}
limits: {{concurrency: {concurrency}}}
{extra}
""")
    return file


@dataclass
class Shell:
    """A terminal of its own: every process that a command starts carries `token` in its
    environment.
    """

    folder: Path
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        own = {"JUDGELAKE_TEST_TOKEN": self.token, "COLUMNS": "160"}
        return {**os.environ, **own, **self.variables}

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "judgelake.flows.cli", *words]
        self.output.write_bytes(b"")
        with self.output.open("wb") as file:
            # A session of its own, so that a Ctrl-C can be sent to the whole foreground group as a
            # terminal does.
            process = subprocess.Popen(
                command, env=self.environment(), stdout=file, stderr=file, start_new_session=True
            )
        self.started.append(process)
        return process

    @property
    def output(self) -> Path:
        """What the last command wrote."""
        return self.folder / "output.txt"

    def run(self, *words: str) -> tuple[int, str]:
        code = self.start(*words).wait(HANG_S)
        return code, self.output.read_text()

    def select(self, lake: Path | str, query: str) -> list[dict[str, object]]:
        """Rows as `judgelake sql --format json` gives them, asked in this process: a command of its
        own would import everything anew.
        """
        with (
            redirect_stdout(io.StringIO()) as shown,
            open_warehouse(open_lake(lake), lazy=True) as connection,
        ):
            run_sql(connection, f"explain {query}", "test")  # makes the views that it names
            answer(connection, query, "json")
        rows: list[dict[str, object]] = json.loads(shown.getvalue())
        return rows

    def count(self, lake: Path | str, query: str) -> int:
        (row,) = self.select(lake, query)
        (value,) = row.values()
        assert isinstance(value, int)
        return value

    def living(self) -> list[psutil.Process]:
        """Processes that carry the token and still live."""
        return [process for process in psutil.process_iter() if _has_token(process, self.token)]

    def list_commands(self) -> list[str]:
        """The command lines of what lives, as every user of the machine sees them."""
        return [" ".join(_command_line(process)) for process in self.living()]

    def list_left(self) -> list[str]:
        """What still lives though the command has ended, as command lines; waits for its end."""
        wait_until(lambda: not self.living())
        return self.list_commands()


def _has_token(process: psutil.Process, token: str) -> bool:
    try:
        return (
            process.status() != psutil.STATUS_ZOMBIE
            and process.environ().get("JUDGELAKE_TEST_TOKEN") == token
        )
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


@contextmanager
def shell_in(folder: Path) -> Iterator[Shell]:
    """A shell whose processes are all ended afterwards, whatever the test did."""
    shell = Shell(folder)
    try:
        yield shell
    finally:
        # one that was started while the others were killed is met in the next round
        assert wait_until(lambda: not _kill_all(shell.living()))
        for process in shell.started:
            process.wait(HANG_S)


def _kill_all(processes: Sequence[psutil.Process]) -> int:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return len(processes)


def wait_until(
    holds: Callable[[], bool],
    run: "subprocess.Popen[bytes] | None" = None,
    *,
    pause_s: float = 0.1,
) -> bool:
    """Wait for `holds()`; False where `run` ended without it."""
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        has_ended = run is not None and run.poll() is not None
        if holds():
            return True
        if has_ended:
            return False
        time.sleep(pause_s)
    return holds()


@contextmanager
def standing_still(standin: StandinProcess) -> Iterator[None]:
    """The endpoint answers nothing meanwhile, so that a run that needs it cannot go on, however
    slow the test is.
    """
    os.kill(standin.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(standin.pid, signal.SIGCONT)


def kill_between_replies(
    run: "subprocess.Popen[bytes]",
    shell: Shell,
    lake: Path,
    standin: StandinProcess,
    log: Path,
    *,
    in_flight: int,
) -> None:
    """Kill a run once the lake has the good replies of the endpoint's `log`, but for those in
    flight; it leaves no process behind.
    """
    with standing_still(standin):
        good = sum(line["fault"] is None for line in read_log(log))
        stored = "select count(*) from replies"
        assert wait_until(lambda: shell.count(lake, stored) >= good - in_flight, run, pause_s=1)
        run.kill()
        run.wait()
    assert shell.list_left() == []


def busiest_worker(shell: Shell) -> psutil.Process:
    """The Dask worker process that has worked most: the one that asks the endpoint."""
    workers = [
        process
        for process in shell.living()
        if any("spawn_main" in word for word in _command_line(process))
    ]
    return max(workers, key=_cpu_seconds)


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Ctrl-C as a terminal sends it: to every process of the foreground group."""
    os.killpg(process.pid, signal.SIGINT)


def read_requests(log: Path) -> list[str]:
    """The digests of all requests the stand-in has seen, in order."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [json.loads(line)["digest"] for line in lines if line.endswith("}")]
