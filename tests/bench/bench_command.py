"""Whole-process times of the command: --help, a second run that finds nothing to do, and a query; the
bare interpreter beside them.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from judgelake.tasks.standin.process import start_standin
from tests.flows.harness import write_benchmark, write_suite

RUNS = 5
CLI = [sys.executable, "-m", "judgelake.flows.cli"]


def main() -> None:
    """Print medians in seconds and the limits that the project set itself."""
    bare = time_command([sys.executable, "-c", "pass"])
    print(f"bare interpreter          {bare:6.3f} s")
    print(f"judgelake --help          {time_command([*CLI, '--help']):6.3f} s  (limit 0.5 s)")
    with tempfile.TemporaryDirectory() as name, start_standin() as standin:
        folder = Path(name)
        write_benchmark(folder, 1000)
        run = [
            *CLI,
            "run",
            str(write_suite(folder, standin.base_url, concurrency=128)),
            "--lake",
            str(folder / "lake"),
        ]
        began = time.perf_counter()
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print(
            f"first run, 2,000 cases    {time.perf_counter() - began:6.3f} s  (servers and "
            f"workers included)"
        )
        print(f"second run, nothing to do {time_command(run):6.3f} s  (limit 3 s)")
        query = [*CLI, "sql", "--lake", str(folder / "lake"), "select 1"]
        print(f"judgelake sql             {time_command(query):6.3f} s  (limit 0.6 s)")


def time_command(command: list[str]) -> float:
    """Median wall time of a command over a few runs, in seconds."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return sorted(times)[RUNS // 2]


if __name__ == "__main__":
    main()
