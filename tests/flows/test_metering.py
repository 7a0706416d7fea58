"""Three workers at one endpoint that meters them: together they keep to the suite's limits, and use
nine tenths of them.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.flows.harness import Shell, shell_in, write_benchmark, write_suite
from tests.flows.metering import Meter, metered_endpoint
from tests.flows.services import dask_scheduler, free_port, worker
from tests.flows.test_whole_runs import ONE_EACH

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_prefect")]
STEADY = (0.3, 0.8)
"""Of a run's time: workers begin and end seconds apart where the machine is busy."""


@contextmanager
def three_workers(folder: Path) -> Iterator[tuple[Shell, str]]:
    """A shell, and a scheduler with three workers that have an endpoint slot each."""
    with ExitStack() as stack:
        shell = stack.enter_context(shell_in(folder))
        address = stack.enter_context(dask_scheduler(shell, free_port()))
        for name in ("first", "second", "third"):
            stack.enter_context(
                worker(shell, address, name, *(("--metric", "1") if name == "first" else ()))
            )
        yield shell, address


def run_metered(folder: Path, meter: Meter, n_items: int) -> None:
    """A whole run over two models' answers to so many items under the meter's limits."""
    write_benchmark(folder, n_items)
    lake = folder / "lake"
    with metered_endpoint(meter), three_workers(folder) as (shell, address):
        suite = write_suite(folder, meter.base_url)
        limits = (
            f"limits: {{concurrency: {meter.concurrency}, requests_per_minute: "
            f"{meter.per_minute or 'null'}}}"
        )
        # What is metered is a steady rate: no trial of the judge before it.
        text = suite.read_text().replace(
            "max_attempts: 3}", "max_attempts: 3, on_unreadable: go on}"
        )
        assert "go on" in text
        suite.write_text(text.replace("limits: {concurrency: 32}", limits))
        code, output = shell.run("run", str(suite), "--lake", str(lake), "--scheduler", address)
        assert code == 0, output
        assert shell.count(lake, ONE_EACH) == 0
        assert shell.count(lake, "select count(*) from verdicts where status = 'ok'") == 2 * n_items
    assert shell.list_left() == []
    assert meter.refused == []
    assert len(meter.arrivals) == 2 * n_items


def test_requests_a_minute(tmp_path: Path) -> None:
    """1,500 requests at 100 a second, in three shards."""
    meter = Meter(latency_s=0.1, concurrency=64, per_minute=6000)
    run_metered(tmp_path, meter, 750)
    assert 90 <= meter.between(*STEADY)[0] <= 105  # a stall of 250 ms may be caught up with


def test_requests_at_once(tmp_path: Path) -> None:
    """600 cases make two shards, which have the third worker's part too: 25 requests each."""
    meter = Meter(latency_s=2.0, concurrency=50)
    run_metered(tmp_path, meter, 300)
    assert meter.between(*STEADY)[1] >= 45
