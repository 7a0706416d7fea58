"""A shard from its file to the lake, against the real stand-in over HTTP; what it was asked is read
from its own log.
"""

import dataclasses
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from judgelake.tasks.backends.openai.settings import OpenAISettings, StandinSettings
from judgelake.tasks.engine import ledger, shard
from judgelake.tasks.engine.shard import (
    ShardOrder,
    ShardResult,
    make_backend,
    remaining_cases,
    run_judge_shard,
)
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.stop_flag import stop_file
from judgelake.tasks.planning.cases import find_work, register_judges, write_work
from judgelake.tasks.standin.process import StandinProcess, start_standin
from judgelake.tasks.suite.suite import LimitSettings, Scope, Suite
from tests.backends.asking import read_log
from tests.engine.running import asked_again_at_once
from tests.lakes import answer, ingest, item, lave_judge, make_lake, make_suite, query

CASES = 24
LIMITS = LimitSettings(concurrency=8)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("standin") / "log.jsonl"


@pytest.fixture(scope="module")
def standin(log: Path) -> Iterator[StandinProcess]:
    with start_standin(log=log) as process:
        yield process


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """24 answers, each to its own question; every third is right, every third half right, every
    third wrong.
    """
    lake = make_lake(tmp_path)
    items = [
        item(f"i{n:02}", f"What is in photo {n} of {tmp_path.name}?", ("red bus", "red bus"))
        for n in range(CASES)
    ]
    texts = ("a red bus", "a bus", "a tree")
    ingest(lake, items, [answer(f"i{n:02}", texts[n % 3]) for n in range(CASES)])
    return lake


@pytest.fixture(autouse=True)
def _no_long_waits() -> Iterator[None]:
    with asked_again_at_once():
        yield


def make_judged(max_attempts: int = 6) -> Suite:
    return make_suite(
        lave_judge(endpoint=StandinSettings(max_attempts=max_attempts)), limits=LIMITS
    )


def plan(lake: Lake, suite: Suite, run_id: str, address: str) -> ShardOrder:
    """The order for the one shard of the one judge."""
    register_judges(lake, suite)
    (work,) = write_work(lake, suite, Scope(), run_id)
    (file,) = work.shards
    return ShardOrder(
        lake,
        run_id,
        suite.judges["lave"],
        work.identity,
        suite.limits,
        file,
        lake.root / "images",
        address,
    )


def judge(lake: Lake, suite: Suite, run_id: str, address: str) -> ShardResult:
    return run_judge_shard(plan(lake, suite, run_id, address))


def count_pending(lake: Lake, suite: Suite) -> int:
    return sum(work.n_pending for work in find_work(lake, suite, Scope()))


def count_asked(log: Path) -> int:
    return len(read_log(log)) if log.exists() else 0


def test_every_case_gets_its_verdict_and_its_reply_is_kept(
    lake: Lake, standin: StandinProcess, log: Path
) -> None:
    before = count_asked(log)
    result = judge(lake, make_judged(), "run-1", standin.base_url)
    assert result.n_calls == count_asked(log) - before == CASES
    assert result.statuses == (("ok", CASES),)
    assert (result.n_replies_reused, result.completion_tokens > 0, result.prompt_tokens > 0) == (
        0,
        True,
        True,
    )
    rows = query(
        lake,
        "select item_id, status, rating, score_0_1, rationale from stg_verdicts order by item_id",
    )
    assert [row["item_id"] for row in rows] == [f"i{n:02}" for n in range(CASES)]
    assert [row["rating"] for row in rows] == [3, 2, 1] * (CASES // 3)
    assert [row["score_0_1"] for row in rows] == [1.0, 0.5, 0.0] * (CASES // 3)
    assert all("So rating" not in row["rationale"] for row in rows)
    joined = (
        "select count(distinct item_id) as n from (select item_id, unnest(reply_digests) "
        "as digest from stg_verdicts) as v "
    )
    assert query(lake, joined + "inner join stg_replies as r on v.digest = r.request_digest") == [
        {"n": CASES}
    ]
    assert count_pending(lake, make_judged()) == 0


def test_progress_is_written_to_a_file(lake: Lake, standin: StandinProcess) -> None:
    order = plan(lake, make_judged(), "run-1", standin.base_url)
    result = run_judge_shard(order)
    progress = json.loads(order.progress_file.read_text())
    assert order.progress_file.name == "lave-0000.progress.json"
    tokens = result.prompt_tokens + result.completion_tokens
    counts = {
        "calls": CASES,
        "reused": 0,
        "cases": CASES,
        "statuses": {"ok": CASES},
        "tokens": tokens,
    }
    assert progress == {**counts, "cost_usd": 0.0, "unpriced": 0}


def test_the_same_shard_again_asks_and_writes_nothing(
    lake: Lake, standin: StandinProcess, log: Path
) -> None:
    order = plan(lake, make_judged(), "run-1", standin.base_url)
    run_judge_shard(order)
    asked, parts = count_asked(log), lake.part_files("verdicts") + lake.part_files("replies")
    assert remaining_cases(order, lake.take_snapshot()).is_empty()
    again = run_judge_shard(order)
    assert (again.n_calls, again.n_replies_reused, again.statuses) == (0, 0, ())
    assert count_asked(log) == asked
    assert lake.part_files("verdicts") + lake.part_files("replies") == parts


def test_lost_verdicts_are_made_again_from_stored_replies(
    lake: Lake, standin: StandinProcess, log: Path
) -> None:
    order = plan(lake, make_judged(), "run-1", standin.base_url)
    run_judge_shard(order)
    asked = count_asked(log)
    before = query(lake, "select item_id, rating, rationale from stg_verdicts order by item_id")
    for part in lake.part_files("verdicts"):
        part.unlink()
    again = run_judge_shard(order)
    assert (again.n_calls, again.n_replies_reused, again.statuses) == (0, CASES, (("ok", CASES),))
    assert count_asked(log) == asked
    assert (
        query(lake, "select item_id, rating, rationale from stg_verdicts order by item_id")
        == before
    )


def test_with_faults_every_case_ends_with_one_current_verdict(lake: Lake, tmp_path: Path) -> None:
    faults = {"500": 0.25, "429": 0.15, "reset": 0.1, "truncate": 0.1}
    with start_standin(
        faults=faults, retry_after_s=0, seed=5, log=tmp_path / "log.jsonl"
    ) as standin:
        first = judge(lake, make_judged(max_attempts=2), "run-1", standin.base_url)
        statuses = dict(first.statuses)
        # 0.6 of the attempts fail, so 0.36 of the cases do: 8.6 expected of 24, standard deviation
        # 2.4
        assert 1 <= statuses["failed"] <= 20
        assert statuses["failed"] + statuses["ok"] == CASES
        assert count_pending(lake, make_judged(max_attempts=2)) == statuses["failed"]
        second = judge(lake, make_judged(max_attempts=40), "run-2", standin.base_url)
    assert second.statuses == (("ok", statuses["failed"]),)
    rows = query(lake, "select item_id, status, run_id from stg_verdicts")
    assert Counter(row["item_id"] for row in rows) == Counter(f"i{n:02}" for n in range(CASES))
    assert {row["status"] for row in rows} == {"ok"}
    assert Counter(row["run_id"] for row in rows) == {
        "run-1": statuses["ok"],
        "run-2": statuses["failed"],
    }
    reasons = query(lake, "select reason from raw_verdicts where status = 'failed'")
    assert all(row["reason"].startswith("127.0.0.1") for row in reasons)
    met = {line["fault"] for line in read_log(tmp_path / "log.jsonl")}
    assert met == {"500", "429", "reset", "truncate", None}


def test_a_model_that_is_not_there_is_asked_once(
    lake: Lake, standin: StandinProcess, log: Path
) -> None:
    endpoint = OpenAISettings(model="no/such-model", base_url=standin.base_url)
    suite = make_suite(lave_judge(endpoint=endpoint), limits=LIMITS)
    before = count_asked(log)
    result = judge(lake, suite, "run-1", standin.base_url)
    assert (result.statuses, count_asked(log) - before) == ((("failed", 1),), 1)
    assert result.refusal.startswith("judge lave: 127.0.0.1")
    assert "does not exist" in result.refusal
    assert query(lake, "select reason like '%does not exist%' as is_named from stg_verdicts") == [
        {"is_named": True}
    ]
    assert count_pending(lake, suite) == CASES  # the first is tried again with the rest


def test_a_missing_key_ends_the_shard_before_it_writes(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JUDGELAKE_TEST_KEY", raising=False)
    endpoint = OpenAISettings(
        "openai/x",
        base_url="https://api.example.invalid/v1",
        api_key_variable="JUDGELAKE_TEST_KEY",
    )
    order = plan(lake, make_suite(lave_judge(endpoint=endpoint)), "run-1", "")
    result = run_judge_shard(dataclasses.replace(order, standin=None))
    assert "JUDGELAKE_TEST_KEY is not set" in result.refusal
    assert result.statuses == ()
    assert lake.part_files("verdicts") == []


def test_a_stop_file_lets_nothing_begin(lake: Lake, standin: StandinProcess, log: Path) -> None:
    order, before = plan(lake, make_judged(), "run-1", standin.base_url), count_asked(log)
    stop_file(lake, "run-1").touch()
    result = run_judge_shard(order)
    assert (result.n_calls, result.statuses, count_asked(log) - before) == (0, (), 0)
    assert count_pending(lake, make_judged()) == CASES


def test_a_stop_in_the_middle_keeps_what_came_and_leaves_the_rest(
    lake: Lake, standin: StandinProcess, log: Path
) -> None:
    suite = make_suite(
        lave_judge(), limits=LimitSettings(concurrency=1, requests_per_minute=1200)
    )  # one each 50 ms
    order, before = plan(lake, suite, "run-1", standin.base_url), count_asked(log)

    def stop_after_eight() -> None:
        while count_asked(log) - before < 8:
            time.sleep(0.002)
        stop_file(lake, "run-1").touch()

    stopping = threading.Thread(target=stop_after_eight, daemon=True)
    stopping.start()
    result = run_judge_shard(order)
    stopping.join()
    judged = sum(count for _, count in result.statuses)
    assert 8 <= judged == result.n_calls == count_asked(log) - before < CASES
    assert count_pending(lake, suite) == CASES - judged
    assert len(remaining_cases(order, lake.take_snapshot())) == CASES - judged
    stop_file(lake, "run-1").unlink()
    rest = run_judge_shard(dataclasses.replace(order, limits=LIMITS))
    assert rest.n_calls == CASES - judged
    assert count_pending(lake, suite) == 0


def test_a_lake_that_cannot_be_written_ends_the_shard_and_loses_nothing(
    lake: Lake, standin: StandinProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    order = plan(lake, make_judged(), "run-1", standin.base_url)

    def fail(*_: object) -> None:
        raise LakeError("no room")

    monkeypatch.setenv("JUDGELAKE_SPILL", str(tmp_path / "spill"))
    with monkeypatch.context() as full:
        full.setattr(ledger, "append_rows", fail)
        full.setattr(shard, "PATIENCE_S", 0.0)
        with pytest.raises(
            LakeError, match=rf"no room\n{CASES} replies that were paid for lie in .*spill"
        ):
            run_judge_shard(order)
    assert lake.part_files("verdicts") == []
    result = run_judge_shard(order)  # the next run on this machine
    assert (
        result.n_calls,
        result.n_replies_reused,
        sum(count for _, count in result.statuses),
    ) == (0, CASES, CASES)
    assert list((tmp_path / "spill").rglob("*.parquet")) == []


def test_the_backend_is_the_one_of_the_suite(lake: Lake, standin: StandinProcess) -> None:
    order = plan(lake, make_judged(max_attempts=3), "run-1", standin.base_url)
    assert make_backend(order).window == LIMITS.concurrency
