"""A run keeps to the suite that it read at its start, whatever becomes of the file meanwhile."""

import os
from pathlib import Path

import pytest

from judgelake.tasks.standin.process import start_standin
from judgelake.tasks.suite.suite import read_suite
from tests.flows.harness import (
    HANG_S,
    read_requests,
    shell_in,
    wait_until,
    write_benchmark,
    write_suite,
)
from tests.flows.services import ask


@pytest.mark.full
@pytest.mark.usefixtures("one_prefect")
def test_a_suite_edited_between_stages_is_that_of_the_next_run(tmp_path: Path) -> None:
    """While the judge is at work the file gets another name, judge, metric and least coverage: the
    report that follows would be another suite's, and its judge would have no verdict.
    """
    write_benchmark(tmp_path, 40)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with start_standin(log=log, latency_ms=500) as standin, shell_in(tmp_path) as shell:
        file = write_suite(tmp_path, standin.base_url, concurrency=4)
        first = read_suite(file)
        run = shell.start("run", str(file), "--lake", str(lake))
        assert wait_until(lambda: len(read_requests(log)) >= 4, run), shell.output.read_text()
        text = file.read_text().replace("name: small", "name: other")
        text = text.replace("  lave: {protocol: lave,", "  second: {protocol: lave, shots: 2,")
        file.write_text(text.replace("metrics: [", "metrics: [vqa_accuracy_raw, "))
        assert read_suite(file).digest != first.digest
        assert run.wait(HANG_S) == 0, shell.output.read_text()
        assert len(read_requests(log)) == 80  # 40 items, two models, the first suite's judge alone
        names = shell.select(lake, "select distinct alias, suite from judges order by alias")
        assert names == [
            {"alias": alias, "suite": "small"}
            for alias in ("exact_match", "lave", "soft_vqa_accuracy", "vqa_accuracy")
        ]
        runs = shell.select(lake, "select suite, suite_digest, outcome from runs")
        assert runs == [{"suite": "small", "suite_digest": first.digest, "outcome": "done"}]
        pages = [page.parent.name for page in lake.glob("reports/*/report.html")]
        assert pages == ["small"]
        shown = [
            run["parameters"]["suite"]
            for run in ask(os.environ["PREFECT_API_URL"], "/flow_runs/filter")
            if run["parameters"].get("lake_root") == str(lake)
        ]
        assert shown == [{"name": "small", "digest": first.digest}] * 4  # the run and its stages
