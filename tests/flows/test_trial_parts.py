"""Which shards follow a part of a judge's trial. What a part asks is `tests/engine/test_trial.py`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from judgelake.flows import judge_answers
from judgelake.tasks.backends.openai.settings import OpenAISettings
from judgelake.tasks.engine.ledger import Tally
from judgelake.tasks.engine.shard import ShardOrder, ShardResult, sum_up
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.stop_flag import stop_file
from judgelake.tasks.planning.cases import Work
from judgelake.tasks.runs.log import DEFAULT_OPTIONS
from judgelake.tasks.suite.suite import LimitSettings, Scope
from tests.lakes import lave_judge, make_lake, make_suite

NOTHING = sum_up(Tally())
BATCHED = lave_judge(endpoint=OpenAISettings(model="openai/m", mode="batch"))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def try_out(
    lake: Lake,
    monkeypatch: pytest.MonkeyPatch,
    parts: Sequence[ShardResult],
    passes: Sequence[bool] = (True, True, True),
) -> tuple[list[tuple[str, int]], list[str]]:
    """The shards that were tried and the replies wanted of each, and the shards that follow; of
    three shards whose trials end as given.
    """
    identity = BATCHED.identify(("b",))
    files = tuple(lake.root / f"{number}.parquet" for number in range(3))
    fixed = (lake, "run", BATCHED, identity, LimitSettings())
    orders = [ShardOrder(*fixed, file, lake.root) for file in files]
    asked: list[tuple[str, int]] = []

    def submit(given: Iterable[ShardOrder]) -> object:
        for order in given:
            assert isinstance(order.judge.endpoint, OpenAISettings)
            assert order.judge.endpoint.mode == "live"
            asked.append((order.cases_file.stem, order.trial))
        return lambda: [parts[len(asked) - 1]]

    verdicts = iter(passes)
    monkeypatch.setattr(judge_answers, "_submit", submit)
    monkeypatch.setattr(judge_answers, "passes_trial", lambda *_: next(verdicts))
    judging = judge_answers._Judging(
        lake, make_suite(BATCHED), Scope(), "run", (), {}, DEFAULT_OPTIONS
    )
    work = Work(identity, 9, 9, files, n_trial=20)
    results, passed = judge_answers._try_out(judging, [(work, orders)])
    assert results == [*parts[: len(asked)]]
    assert all((order.trial, order.judge) == (0, BATCHED) for order in passed)
    return asked, [order.cases_file.stem for order in passed]


def test_all_shards_follow_twenty_replies(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [replace(NOTHING, n_tried=20)]
    assert try_out(lake, monkeypatch, parts) == ([("0", 20)], ["0", "1", "2"])


def test_too_few_replies_are_made_up_for_by_the_next_shard(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [NOTHING, replace(NOTHING, n_tried=8), replace(NOTHING, n_tried=12)]
    assert try_out(lake, monkeypatch, parts) == ([("0", 20), ("1", 20), ("2", 12)], ["2"])
    assert try_out(lake, monkeypatch, parts, (True, False)) == ([("0", 20), ("1", 20)], [])
    assert try_out(lake, monkeypatch, [NOTHING] * 3)[1] == []


@pytest.mark.parametrize("end", ["refusal", "over_budget", "stopped"])
def test_a_run_that_asks_no_more_tries_no_more(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    given = {
        "refusal": replace(NOTHING, refusal="no key"),
        "over_budget": replace(NOTHING, over_budget=True),
    }
    if end == "stopped":
        file = stop_file(lake, "run")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert try_out(lake, monkeypatch, [given.get(end, NOTHING)]) == ([("0", 20)], ["1", "2"])
