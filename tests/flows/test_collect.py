"""`judgelake collect` as its users run it: over HTTP with faults, killed in the middle, interrupted,
priced before, and what it leaves behind.
"""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from judgelake.tasks.standin.process import start_standin
from tests.backends.asking import read_log
from tests.flows.harness import HANG_S, kill_between_replies, read_requests, shell_in, wait_until

SCENES, CONCURRENCY = 24, 8
FAULTS = {"500": 0.08, "429": 0.05, "truncate": 0.04, "garbage": 0.04, "reset": 0.04}


def write_suite(folder: Path, base_url: str) -> str:
    file = folder / "suite.yaml"
    file.write_text(f"""
name: small
benchmarks:
  scenes: {{source: demo, scenes: {SCENES}}}
collection:
  benchmarks: [scenes]
  backend: openai
  model: standin/rules
  base_url: "{base_url}"
  timeout_s: {HANG_S}
  max_attempts: 12
  file: collected.json
limits: {{concurrency: {CONCURRENCY}}}
""")
    return str(file)


@pytest.mark.full
def test_killed_in_the_middle_it_goes_on_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    """Asked twice is at most what was in flight when it was killed: all else was in the lake."""
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with (
        start_standin(log=log, faults=FAULTS, latency_ms=150, retry_after_s=0.05) as standin,
        shell_in(tmp_path) as shell,
    ):
        suite = write_suite(tmp_path, standin.base_url)
        run = shell.start("collect", suite, "--lake", str(lake))
        # in the third stage
        made = "collected_instructions/**/*.parquet"
        assert wait_until(lambda: any(lake.glob(made)), run), shell.output.read_text()
        asked = len(read_requests(log))
        assert wait_until(lambda: len(read_requests(log)) >= asked + 40, run)
        kill_between_replies(run, shell, lake, standin, log, in_flight=CONCURRENCY)
        code, output = shell.run("collect", suite, "--lake", str(lake))
        assert code == 0, output
        paid = Counter(line["digest"] for line in read_log(log) if line["fault"] is None)
        assert sum(paid.values()) - len(paid) <= CONCURRENCY
        assert shell.count(lake, "select count(*) from replies") == len(paid)
        kept = shell.count(lake, "select count(*) from stg_screened_rubrics where is_kept")
        assert f"responses: {10 * kept:,} of {10 * kept:,}" in output
        assert len(json.loads((tmp_path / "collected.json").read_text())) == 10 * kept
        requests = len(read_requests(log))
        code, output = shell.run("collect", suite, "--lake", str(lake))
        assert (code, len(read_requests(log))) == (0, requests), output
        assert "nothing to do" in output


@pytest.mark.full
def test_it_is_priced_before_it_starts_and_its_file_is_trained_on(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with start_standin() as standin, shell_in(tmp_path) as shell:
        suite = write_suite(tmp_path, standin.base_url)
        code, output = shell.run("plan", suite, "--lake", str(lake))
        assert code == 0, output
        assert re.search(r"^rubrics +standin/rules", output, re.MULTILINE), output
        assert re.search(r"^responses, to come +standin/rules", output, re.MULTILINE), output
        assert "at most 144 cases" in output  # 24 images x 3 rubrics x 2 instructions
        assert not lake.exists()
        assert shell.run("collect", suite, "--lake", str(lake))[0] == 0
        trained = tmp_path / "trained.yaml"
        trained.write_text("""
name: trained
images: lake/images
benchmarks:
  collected: {source: prometheus_vision, training: [collected.json], judge: collector}
""")
        code, output = shell.run("ingest", str(trained), "--lake", str(lake))
        assert code == 0, output
        taught = "select count(*) from recorded_verdicts where judge = 'collector' and rating >= 1"
        rows = json.loads((tmp_path / "collected.json").read_text())
        assert shell.count(lake, taught) == len(rows) > 0
        code, output = shell.run("collect", suite, "--lake", str(lake), "--judge", "rubrics")
        assert code == 0, output
