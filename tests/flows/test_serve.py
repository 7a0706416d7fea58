"""A suite on a schedule: `judgelake serve` on a real Prefect server with PostgreSQL,
infra/prefect.yaml, and the messages about mistakes.
"""

import signal
import subprocess
import sys
import urllib.error
from pathlib import Path
from typing import Any

import pytest

from judgelake.flows.serve_command import _hold_home
from judgelake.tasks.standin.process import start_standin
from judgelake.tasks.suite.suite import read_suite
from tests.conftest import CHECKOUT
from tests.flows.harness import (
    HANG_S,
    Shell,
    read_requests,
    shell_in,
    wait_until,
    write_benchmark,
    write_suite,
)
from tests.flows.services import ask, postgres, prefect


def ended_runs(url: str) -> list[dict[str, Any]]:
    """The flow runs of schedules that came to an end, the earliest first."""
    asked = {"flows": {"name": {"any_": ["evaluate-suite"]}}, "sort": "START_TIME_ASC"}
    ended = ("COMPLETED", "FAILED", "CRASHED")
    return [run for run in ask(url, "/flow_runs/filter", asked) if run["state_type"] in ended]


def serve(shell: Shell, suite: Path, lake: Path, *when: str) -> subprocess.Popen[bytes]:
    return shell.start("serve", str(suite), "--lake", str(lake), *when)


@pytest.mark.full
def test_interval_runs_twice_and_the_second_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real PostgreSQL, real Prefect server, real Dask workers, an endpoint over HTTP that
    counts.
    """
    write_benchmark(tmp_path, 20)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with start_standin(log=log) as standin, shell_in(tmp_path) as shell:
        suite = write_suite(tmp_path, standin.base_url)
        with postgres(tmp_path, shell.environment()) as database, prefect(shell, database) as url:
            monkeypatch.setenv("PREFECT_API_URL", url)
            served = serve(shell, suite, lake, "--interval", "15")
            assert wait_until(lambda: len(ended_runs(url)) >= 2), shell.output.read_text()
            first, second = ended_runs(url)[:2]
            served.send_signal(signal.SIGTERM)
            assert served.wait(HANG_S) == 0
            (deployment,) = ask(url, "/deployments/filter")
        assert first["state_type"] == second["state_type"] == "COMPLETED", (
            first["state"],
            second["state"],
        )
        assert "40 calls" in first["state"]["message"]  # 20 items, two models
        assert "nothing to do" in second["state"]["message"]
        assert len(read_requests(log)) == 40
        assert deployment["paused"]
        output = shell.output.read_text()
        assert "every 15 s" in output
        assert f"{url.removesuffix('/api')}/deployments/deployment/{deployment['id']}" in output
        assert [
            row["outcome"]
            for row in shell.select(
                lake, "select outcome from core_runs order by started_at limit 2"
            )
        ] == [
            "done",
            "nothing to do",
        ]
        assert shell.list_left() == []


@pytest.mark.full
def test_server_of_its_own_shows_a_form_and_ends_with_it(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 600)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with start_standin(log=log, latency_ms=300) as standin, shell_in(tmp_path) as shell:
        served = serve(
            shell, write_suite(tmp_path, standin.base_url, concurrency=8), lake, "--interval", "5"
        )
        assert wait_until(lambda: "/deployments/" in shell.output.read_text()), (
            shell.output.read_text()
        )
        url = shell.output.read_text().partition("/deployments/")[0].rpartition(" ")[2] + "/api"
        password = shell.output.read_text().partition("the password ")[2].split()[0]
        assert password not in " ".join(shell.list_commands())
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(url, "/deployments/filter")
        (deployment,) = ask(url, "/deployments/filter", password=password)
        form = deployment["parameter_openapi_schema"]["properties"]
        assert deployment["entrypoint"] == "judgelake.flows.scheduled.evaluate_suite"
        assert deployment["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
        assert [name for name, field in form.items() if not field["description"]] == []
        assert form["retry"]["items"]["enum"] == [
            "unparsed",
            "refused",
            "truncated",
            "filtered",
            "failed",
        ]
        assert wait_until(lambda: len(read_requests(log)) >= 30), shell.output.read_text()
        skipped = {"flow_runs": {"state": {"type": {"any_": ["CANCELLED"]}}}}
        assert wait_until(
            lambda: bool(ask(url, "/flow_runs/filter", skipped, password))
        )  # due while the first still judges
        served.send_signal(signal.SIGTERM)
        assert served.wait(HANG_S) == 0, shell.output.read_text()
        assert shell.list_left() == []
        asked = len(read_requests(log))
        assert 30 <= asked < 1200
        assert (
            shell.count(lake, "select count(*) from replies") == asked
        )  # what was paid for is kept


def test_no_other_user_reads_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    write_benchmark(tmp_path, 1)
    suite = read_suite(write_suite(tmp_path, "http://127.0.0.1:9/v1"))
    for _ in range(2):
        with _hold_home(suite) as home:
            assert home.stat().st_mode & 0o777 == 0o700
        home.chmod(0o755)  # as an earlier version left it


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--interval", "0"), "'0'; expected a whole number from 1"),
        ((), "one of the arguments --cron --interval is required"),
        (
            ("--cron", "0 2 * * *", "--timezone", "Mars/Olympus"),
            "--timezone 'Mars/Olympus': is no time zone",
        ),
        (("--interval", "60", "--judge", "lavee"), "did you mean 'lave'?"),
    ],
)
def test_mistakes_are_refused_at_once(
    tmp_path: Path, words: tuple[str, ...], expected: str
) -> None:
    write_benchmark(tmp_path, 5)
    suite = write_suite(tmp_path, "http://127.0.0.1:9/v1")
    with shell_in(tmp_path) as shell:
        code, output = shell.run("serve", str(suite), *words)
        assert code == 1
        assert expected in output


@pytest.mark.full
def test_wrong_cron_is_refused(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 5)
    suite = write_suite(tmp_path, "http://127.0.0.1:9/v1")
    with shell_in(tmp_path) as shell:
        code, output = shell.run("serve", str(suite), "--cron", "0 25 * * *")
        assert code == 1
        assert "--cron '0 25 * * *': is no schedule" in output
        assert shell.list_left() == []


@pytest.mark.full
def test_prefect_takes_the_deployments_and_a_worker_runs_one(tmp_path: Path) -> None:
    """infra/prefect.yaml as it stands, against a real server; the run goes through `prefect worker`
    of type process.
    """
    write_benchmark(tmp_path, 10)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    program = str(Path(sys.executable).parent / "prefect")
    with start_standin(log=log) as standin, shell_in(tmp_path) as shell:
        suite = write_suite(tmp_path, standin.base_url)
        with prefect(shell, f"sqlite+aiosqlite:///{tmp_path}/prefect.db") as url:
            given = {
                "PREFECT_API_URL": url,
                "JUDGELAKE_SUITE": str(suite),
                "JUDGELAKE_LAKE": str(lake),
                "PREFECT_HOME": str(tmp_path / "home"),
            }
            environment = shell.environment() | given

            def run_prefect(*words: str) -> None:
                done = subprocess.run(
                    [program, *words],
                    env=environment,
                    cwd=CHECKOUT,
                    capture_output=True,
                    text=True,
                    timeout=HANG_S,
                )
                assert done.returncode == 0, done.stdout + done.stderr

            run_prefect("work-pool", "create", "judgelake", "--type", "process")
            run_prefect("--no-prompt", "deploy", "--prefect-file", "infra/prefect.yaml", "--all")
            (deployment,) = ask(url, "/deployments/filter")
            assert deployment["entrypoint"] == "judgelake.flows.scheduled.evaluate_suite"
            assert (
                deployment["concurrency_limit"] == 1
                or deployment["global_concurrency_limit"]["limit"] == 1
            )
            assert [one["schedule"]["cron"] for one in deployment["schedules"]] == ["0 2 * * *"]
            ask(url, f"/deployments/{deployment['id']}/create_flow_run")
            run_prefect("worker", "start", "--pool", "judgelake", "--run-once")
            assert wait_until(lambda: bool(ended_runs(url)))
            (run,) = ended_runs(url)
        assert run["state_type"] == "COMPLETED", run["state"]
        assert len(read_requests(log)) == 20  # 10 items, two models
        assert shell.count(lake, "select count(*) from verdicts where status = 'ok'") == 20
        assert shell.list_left() == []
