import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from judgelake.tasks.backends.endpoint import EndpointSettings
from judgelake.tasks.backends.openai.settings import OpenAISettings
from judgelake.tasks.engine.shard import ShardOrder, run_judge_shard
from judgelake.tasks.judging.lave import LaveOptions
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.planning.reread import Reread, reread_judges
from judgelake.tasks.standin.process import StandinProcess, start_standin
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import LimitSettings, Scope, Suite
from tests.lakes import answer, ingest, item, make_lake, make_suite, query

NOWHERE = OpenAISettings(
    "standin/rules", base_url="https://judge.example.invalid/v1", api_key_variable="NO_SUCH_KEY"
)
LAST, WEIGHTED = LaveOptions(top_logprobs=5), LaveOptions(top_logprobs=5, rating="weighted")
N_CASES = 6


@pytest.fixture(scope="module")
def standin() -> Iterator[StandinProcess]:
    with start_standin() as process:
        yield process


@pytest.fixture
def lake(tmp_path: Path, standin: StandinProcess) -> Lake:
    """Six answers, each judged once: the rating is the last number of each reply."""
    lake = make_lake(tmp_path)
    add_answers(lake, range(N_CASES))
    suite = make_lave(dataclasses.replace(NOWHERE, base_url=standin.base_url), LAST)
    register_judges(lake, suite)
    (work,) = write_work(lake, suite, Scope(), "first")
    (file,) = work.shards
    order = ShardOrder(
        lake, "first", suite.judges["lave"], work.identity, suite.limits, file, lake.root / "images"
    )
    assert run_judge_shard(order).n_calls == N_CASES
    return lake


def add_answers(lake: Lake, numbers: range) -> None:
    items = [item(f"i{n}", f"What is in photo {n}?", ("red bus", "red bus")) for n in numbers]
    ingest(lake, items, [answer(f"i{n}", ("a red bus", "a bus", "a tree")[n % 3]) for n in numbers])


def make_lave(endpoint: EndpointSettings, options: LaveOptions) -> Suite:
    return make_suite(
        JudgeSettings("lave", "lave", endpoint, options), limits=LimitSettings(budget_usd=0.0)
    )


def reread(lake: Lake, options: LaveOptions, run_id: str = "second") -> Reread:
    suite = make_lave(NOWHERE, options)
    register_judges(lake, suite)
    (found,) = reread_judges(lake, suite, Scope(), run_id)
    return found


def test_another_reading_comes_from_stored_replies_with_no_key_and_no_budget(lake: Lake) -> None:
    found = reread(lake, WEIGHTED)
    assert (found.n_pending, found.n_left) == (N_CASES, 0)
    assert [(shard.n_calls, shard.n_replies_reused, shard.statuses) for shard in found.shards] == [
        (0, N_CASES, (("ok", N_CASES),))
    ]
    last, weighted = (
        [
            row["rating"]
            for row in query(
                lake, f"select rating from stg_verdicts where run_id = '{run}' order by item_id"
            )
        ]
        for run in ("first", "second")
    )
    assert last == [3, 2, 1] * 2
    # the expectation lies towards the middle of the scale from where the likeliest rating is
    assert all(
        expected < rating for rating, expected in zip(last, weighted, strict=True) if rating == 3
    )
    assert all(
        expected > rating for rating, expected in zip(last, weighted, strict=True) if rating == 1
    )
    assert reread(lake, WEIGHTED, "third") == Reread("lave", 0, [])


def test_what_was_never_asked_is_left_without_a_verdict(lake: Lake) -> None:
    add_answers(lake, range(N_CASES, N_CASES + 2))
    found = reread(lake, WEIGHTED)
    assert (found.n_pending, found.n_left) == (N_CASES + 2, 2)
    assert query(lake, "select count(*) as n from stg_verdicts where run_id = 'second'") == [
        {"n": N_CASES}
    ]
    # another prompt is another judge: none of its requests was ever asked
    shots = reread(lake, dataclasses.replace(WEIGHTED, shots=1), "third")
    assert (shots.n_pending, shots.n_left) == (N_CASES + 2, N_CASES + 2)
