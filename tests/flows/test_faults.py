"""Faults over real HTTP, through the command: afterwards every case has one verdict or a reason,
and no answer was asked for twice.
"""

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import polars as pl
import psutil
import pytest

from judgelake.tasks.standin.process import StandinProcess, start_standin
from tests.flows.harness import (
    HANG_S,
    Shell,
    busiest_worker,
    read_requests,
    shell_in,
    wait_until,
    write_benchmark,
    write_suite,
)
from tests.flows.test_whole_runs import ONE_EACH

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_prefect")]

FAULTS: dict[str, dict[str, float]] = {
    "storm": {"500": 0.25, "503": 0.2, "429": 0.2},
    "throttled": {"429": 0.5},  # with Retry-After
    "broken": {
        "slow": 0.05,
        "hang": 0.05,
        "truncate": 0.1,
        "garbage": 0.1,
        "html": 0.1,
        "reset": 0.15,
    },
    "other": {"other": 1.0},
}
N_KILLS = 4
"""Dask by itself gives a task up that three workers died of."""
NO_HOST = "https://judge.example.invalid/v1"
JUDGE = (
    '  {name}: {{protocol: lave, backend: openai, model: {model}, base_url: "{url}", '
    "shots: {shots}, timeout_s: 3, max_attempts: {tries}}}\n"
)


def write_judges(folder: Path, judges: Mapping[str, tuple[str, str, int]]) -> Path:
    """A suite without metrics whose judges (name -> model, address, attempts) differ in their
    demonstrations, so none shares another's.
    """
    text = write_suite(folder, "").read_text()
    lines = "".join(
        JUDGE.format(name=name, model=model, url=url, shots=shots, tries=tries)
        for shots, (name, (model, url, tries)) in enumerate(judges.items())
    )
    head, tail = text.partition("metrics:")[0], "limits:" + text.partition("limits:")[2]
    file = folder / "suite.yaml"
    file.write_text(f"{head}judges:\n{lines}{tail}")
    return file


@contextmanager
def endpoints(
    folder: Path, faults: Mapping[str, Mapping[str, float]], ports: Mapping[str, int]
) -> Iterator[dict[str, StandinProcess]]:
    """A stand-in for each name with its faults; one log each, which goes on where the same name is
    started again.
    """
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(
                start_standin(
                    faults=chances, retry_after_s=0.2 if name == "throttled" else None, seed=1, log=folder / f"{name}.jsonl",
                    port=ports.get(name, 0), latency_ms=50,
                )
            )
            for name, chances in faults.items()
        }  # fmt: skip


def answered(folder: Path, name: str) -> Counter[str]:
    """Digests of the requests of which a whole answer was sent, and how often."""
    lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    return Counter(
        line["digest"]
        for line in lines
        if line["fault"] in (None, "other") and line["status"] == 200
    )


def statuses(shell: Shell, lake: Path) -> dict[str, dict[str, int]]:
    rows = shell.select(lake, "select judge, status, n from rpt_coverage order by all")
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(str(row["judge"]), {})[str(row["status"])] = int(str(row["n"]))
    return found


def test_every_fault_then_a_healthy_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five endpoints, each broken in its own way and one that no DNS knows; the next run asks only
    for what has no answer.
    """
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody-may-see-this-key")
    write_benchmark(tmp_path, 20)
    lake = tmp_path / "lake"
    with shell_in(tmp_path) as shell:
        with endpoints(tmp_path, FAULTS, {}) as running:
            addresses = {name: one.base_url for name, one in running.items()}
            judges = {name: ("standin/rules", url, 8) for name, url in addresses.items()}
            suite = str(write_judges(tmp_path, judges | {"nowhere": ("standin/rules", NO_HOST, 1)}))
            code, output = shell.run("run", suite, "--lake", str(lake))
        assert code == 3, output
        assert "nowhere has 0.0 % of its scores" in output
        assert "warning: 1 row against: replies came from the model that was asked for" in output
        assert shell.count(lake, ONE_EACH) == 0
        assert (
            shell.count(
                lake,
                "select count(*) from verdicts where status <> 'ok' and coalesce(reason, '') = ''",
            )
            == 0
        )
        found = statuses(shell, lake)
        assert found["nowhere"] == {"failed": 40}
        assert found["other"] == found["throttled"] == {"ok": 40}
        # seven of ten attempts fail, eight are made: 0.65 ** 8 is 3 % of 40 requests
        assert found["storm"]["ok"] >= 30
        assert found["broken"]["ok"] >= 35
        reported = shell.select(
            lake, "select distinct reason from verdicts where reason like '%judge.example.invalid%'"
        )
        # the host's name and what DNS said; on a busy machine DNS may also not answer in time
        reasons = {str(row["reason"]) for row in reported}
        assert any("ClientConnectorDNSError" in reason for reason in reasons), reasons
        assert len(reasons) <= 2, reasons
        assert {name: max(answered(tmp_path, name).values()) for name in FAULTS} == dict.fromkeys(
            FAULTS, 1
        )

        ports = {name: int(url.split(":")[2].split("/")[0]) for name, url in addresses.items()}
        with endpoints(tmp_path, {name: {} for name in (*FAULTS, "nowhere")}, ports) as running:
            judges |= {"nowhere": ("standin/rules", running["nowhere"].base_url, 8)}
            suite = str(write_judges(tmp_path, judges))
            code, output = shell.run("run", suite, "--lake", str(lake))
        assert code == 0, output
        assert statuses(shell, lake) == {name: {"ok": 40} for name in judges}
        assert {name: answered(tmp_path, name).total() for name in judges} == dict.fromkeys(
            judges, 40
        )
        assert shell.count(lake, ONE_EACH) == 0
        assert shell.list_left() == []


def test_a_wrong_model_costs_one_request_and_the_other_judge_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MISSING_KEY", raising=False)
    write_benchmark(tmp_path, 20)
    lake = tmp_path / "lake"
    with (
        shell_in(tmp_path) as shell,
        endpoints(tmp_path, {"wrong": {}, "right": {}}, {}) as running,
    ):
        judges = {
            "wrong": ("standin/misspelt", running["wrong"].base_url, 8),
            "right": ("standin/rules", running["right"].base_url, 8),
            "keyless": ("standin/rules", NO_HOST, 8),
        }
        suite = write_judges(tmp_path, judges)
        suite.write_text(
            suite.read_text().replace(f'"{NO_HOST}"', f'"{NO_HOST}", api_key_variable: MISSING_KEY')
        )
        code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code == 1, output
        assert "judgelake: judge wrong: 127.0.0.1" in output
        assert (
            "404 The model `standin/misspelt` does not exist; this endpoint has only "
            "`standin/rules`." in output
        )
        assert "judge keyless: standin/rules: MISSING_KEY is not set" in output
        assert len(read_requests(tmp_path / "wrong.jsonl")) == 1
        assert len(read_requests(tmp_path / "right.jsonl")) == 40
        assert statuses(shell, lake)["right"] == {"ok": 40}
        assert [row["exit_code"] for row in shell.select(lake, "select exit_code from runs")] == [1]


def test_a_worker_killed_every_two_seconds(tmp_path: Path) -> None:
    """Asked again is at most what had come since the last flush at each kill: requests seen minus
    replies stored.
    """
    write_benchmark(tmp_path, 500)
    log, lake, n_cases, window = tmp_path / "requests.jsonl", tmp_path / "lake", 1000, 16
    with start_standin(log=log, latency_ms=200) as standin, shell_in(tmp_path) as shell:
        suite = str(write_suite(tmp_path, standin.base_url, concurrency=window))
        shell.variables["JUDGELAKE_WORKERS"] = "processes"
        run = shell.start("run", suite, "--lake", str(lake))
        lost = list(kill_each_two_seconds(shell, run, log, lake, N_KILLS))
        code, output = run.wait(HANG_S), shell.output.read_text()
        assert code == 0, output
        assert shell.count(lake, ONE_EACH) == 0
        assert shell.count(lake, "select count(*) from verdicts where status = 'ok'") == n_cases
        times = Counter(read_requests(log))
        assert len(times) == n_cases
        assert len(lost) == N_KILLS
        assert times.total() - n_cases <= sum(lost) + 2 * window * len(lost)
        assert shell.list_left() == []


def kill_each_two_seconds(
    shell: Shell, run: "subprocess.Popen[bytes]", log: Path, lake: Path, kills: int
) -> Iterator[int]:
    """Kill -9 the worker that asks, two seconds after it began to; gives how many answers each kill
    cost.
    """
    lost = 0
    for _ in range(kills):
        asked = len(read_requests(log))
        assert wait_until(
            partial(lambda asked: len(read_requests(log)) > asked or run.poll() is not None, asked)
        )
        time.sleep(2)
        if run.poll() is not None:
            return
        try:
            busiest_worker(shell).send_signal(signal.SIGKILL)
        except (psutil.NoSuchProcess, ValueError):
            continue
        time.sleep(0.3)
        now = len(read_requests(log)) - lost - count_stored(lake)
        lost += now
        yield now


def count_stored(lake: Path) -> int:
    return sum(
        pl.scan_parquet(file).select(pl.len()).collect().item()
        for file in lake.glob("replies/**/*.parquet")
    )
