"""Whole runs through the command, a real Prefect server, real Dask workers and an endpoint over
HTTP.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from judgelake.tasks.standin.process import start_standin
from tests.backends.batch_server import batch_server
from tests.flows.harness import read_requests, shell_in, write_benchmark, write_suite

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_prefect")]

ONE_EACH = """
select count(*) as wrong from (
    select c.judge_id, c.item_id, c.content_digest, count(v.status) as n from cases as c
    left join verdicts as v using (judge_id, benchmark, item_id, content_digest, context_digest, criterion, sample)
    group by all having n <> 1
)
"""


def test_run_then_nothing_to_do_then_one_edited_answer(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 40)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with start_standin(log=log) as standin, shell_in(tmp_path) as shell:
        suite = write_suite(tmp_path, standin.base_url)
        code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code == 0, output
        assert "judgelake sql --lake" in output
        assert shell.count(lake, ONE_EACH) == 0
        # 40 items x 2 models, all different contents
        assert shell.count(lake, "select count(*) from verdicts where status = 'ok'") == 80
        assert len(read_requests(log)) == 80

        code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code == 0
        assert "nothing to do" in output
        assert "starting workers" not in output
        assert len(read_requests(log)) == 80

        results = json.loads((tmp_path / "results_m1.json").read_text())
        results[3]["answer"] = "something else entirely"
        (tmp_path / "results_m1.json").write_text(json.dumps(results))
        before = shell.select(
            lake, "select mean from rpt_metrics where model = 'm2' and metric = 'lave'"
        )
        code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code == 0, output
        assert len(read_requests(log)) == 81
        assert (
            shell.count(
                lake, "select count(*) from core_scores where judge = 'lave' and status = 'ok'"
            )
            == 80
        )
        assert (
            shell.count(lake, "select count(*) from verdicts") == 81
        )  # the old verdict stays as history
        assert (
            shell.select(
                lake, "select mean from rpt_metrics where model = 'm2' and metric = 'lave'"
            )
            == before
        )
        assert shell.list_left() == []
        page = (lake / "reports" / "small" / "report.html").read_text()
        assert "vqa_accuracy" in page
        assert "lave" in page


def test_stages_one_by_one_and_narrowed(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 30)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with start_standin(log=log) as standin, shell_in(tmp_path) as shell:
        suite = str(write_suite(tmp_path, standin.base_url))
        code, output = shell.run("ingest", suite, "--lake", str(lake))
        assert code == 0, output
        assert shell.count(lake, "select count(*) from items") == 30
        code, output = shell.run(
            "judge", suite, "--lake", str(lake), "--judge", "lave", "--limit", "5"
        )
        assert code == 0, output
        assert len(read_requests(log)) == 10
        # the first five items by key, which is text: 0, 1, 10, 11, 12
        judged = [
            row["item_id"]
            for row in shell.select(lake, "select distinct item_id from verdicts order by 1")
        ]
        assert judged == ["0", "1", "10", "11", "12"]
        code, output = shell.run("report", suite, "--lake", str(lake))
        assert code == 3, output  # the metrics were never computed
        assert "vqa_accuracy" in output
        code, output = shell.run("judge", suite, "--lake", str(lake), "--judge", "nobody")
        assert code == 1
        assert "--judge nobody" in output


def test_judging_an_empty_lake_or_in_vain_ends_with_its_code(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 2)
    with batch_server() as server, shell_in(tmp_path) as shell:
        server.live = lambda _: (500, {"error": {"message": "boom"}})
        suite = write_suite(tmp_path, server.base_url)
        suite.write_text(suite.read_text().replace("max_attempts: 3", "max_attempts: 1"))
        words = (str(suite), "--lake", str(tmp_path / "lake"))
        code, output = shell.run("judge", *words)
        assert code == 1, output
        assert "has no answers of small; " in output
        assert f"run ingest first: judgelake ingest {suite}" in output
        assert shell.run("ingest", *words)[0] == 0
        code, output = shell.run("judge", *words, "--judge", "lave")
        assert code == 3, output
        assert "coverage: lave has 0.0 % of its scores on small; expected 98.0 %" in output
        assert "4 failed, most with: " in output
        assert "500 boom; run again to ask for them" in output


def test_failures_are_rows_with_a_reason_and_are_tried_again(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 20)
    lake = tmp_path / "lake"
    with shell_in(tmp_path) as shell:
        with start_standin() as standin:
            address = standin.base_url
        suite = write_suite(tmp_path, address)  # nobody answers there any more
        code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code == 3, output
        statuses = shell.select(lake, "select status, n from rpt_coverage where judge = 'lave'")
        assert statuses == [{"status": "failed", "n": 40}]
        means = shell.select(
            lake, "select n, n_missing, mean from rpt_metrics where metric = 'lave' and model = '*'"
        )
        assert means == [{"n": 0, "n_missing": 40, "mean": None}]
        log = tmp_path / "requests.jsonl"
        with start_standin(log=log, port=int(address.split(":")[2].split("/")[0])):
            code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code == 0, output
        assert len(read_requests(log)) == 40
        assert shell.count(lake, ONE_EACH) == 0
        assert shell.list_left() == []


def test_faults_on_the_wire_end_with_one_verdict_each(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 60)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    faults = {"500": 0.1, "429": 0.1, "reset": 0.05, "truncate": 0.05, "garbage": 0.05}
    with (
        start_standin(log=log, faults=faults, retry_after_s=0.1, seed=5) as standin,
        shell_in(tmp_path) as shell,
    ):
        suite = write_suite(tmp_path, standin.base_url)
        code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code in (0, 3), output
        assert shell.count(lake, ONE_EACH) == 0
        failed = shell.count(lake, "select count(*) from verdicts where status <> 'ok'")
        assert (code == 3) == (failed / 120 > 0.02)
        answered = Counter(
            json.loads(line)["digest"]
            for line in log.read_text().splitlines()
            if '"status":200' in line
        )
        assert len(answered) >= 120 - failed
