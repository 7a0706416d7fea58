"""The trial of a judge and its pause, as given verdicts and what is planned after them. What a whole
run does is in `tests/flows/test_trials.py`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.backends.openai.settings import OpenAISettings, StandinSettings
from judgelake.tasks.engine.shard import ShardOrder, run_judge_shard
from judgelake.tasks.errors import ExitCode
from judgelake.tasks.judging.chirp_grading import ChirpGradingOptions
from judgelake.tasks.judging.harmonic import HarmonicOptions
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import Work, find_work, write_work
from judgelake.tasks.planning.estimate import estimate_suite
from judgelake.tasks.planning.trials import (
    TrialCounts,
    count_readable,
    describe_pause,
    passes_trial,
)
from judgelake.tasks.runs import summary
from judgelake.tasks.runs.record import record_run
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import Scope, identify_all
from tests.backends.asking import completion
from tests.backends.batch_server import batch_server
from tests.lakes import (
    answer,
    append_records,
    digest_of,
    ingest,
    item,
    lave_judge,
    make_lake,
    make_suite,
    read_shards,
    reply_row,
    verdict_row,
    warehouse,
)

ITEMS = [item(f"i{number:02}", f"What is in photo {number}?") for number in range(30)]
SUITE = make_suite(lave_judge(), benchmarks=("b", "c"), tried=True)
GOES_ON = make_suite(lave_judge(), benchmarks=("b", "c"))
(ONE,) = identify_all(SUITE)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Thirty items in two benchmarks, so two cases make one request."""
    lake = make_lake(tmp_path)
    answers = [answer(row["item_id"], "a cat") for row in ITEMS]
    for benchmark in ("b", "c"):
        ingest(lake, ITEMS, answers, benchmark=benchmark)
    return lake


def add_verdicts(lake: Lake, counts: Mapping[str, int], start: int = 0, **more: Any) -> None:
    """So many verdicts of each status, on one item after the other, each resting on a reply."""
    rows, replies = [], []
    for number, status in enumerate(
        (status for status, n in counts.items() for _ in range(n)), start
    ):
        digest = f"{number:064x}"
        about = {"reading": ONE.reading, "status": status, "reply_digests": [digest], **more}
        rating = 3 if status == "ok" else None
        content = digest_of(ITEMS[number], "a cat")
        rows.append(verdict_row(ONE.judge_id, ITEMS[number]["item_id"], content, rating, **about))
        replies.append(reply_row(ONE.judge_id, digest, text=f"I can not\n\x1b[31m rate {number}"))
    append_records(lake, "verdicts", rows)
    append_records(lake, "replies", replies)


def plan(lake: Lake, retry: tuple[str, ...] = (), suite: Any = SUITE) -> Work:
    (work,) = write_work(lake, suite, Scope(), "run", retry)
    return work


def sizes(work: Work) -> list[int]:
    return [len(read_shards([file])) for file in work.shards]


def test_a_new_judge_is_tried_on_twenty_replies(lake: Lake) -> None:
    work = plan(lake)
    assert (work.n_trial, sizes(work)) == (20, [60])
    assert plan(lake, suite=GOES_ON).n_trial == 0


def test_a_trial_brings_the_replies_that_are_missing_of_twenty(lake: Lake) -> None:
    add_verdicts(lake, {"ok": 3, "unparsed": 5})
    assert plan(lake).n_trial == 12
    add_verdicts(lake, {"ok": 12}, start=8)
    assert plan(lake).n_trial == 0


def test_a_first_case_that_asks_nothing_hides_no_trial(tmp_path: Path) -> None:
    """LAVE asks nothing about an item without references; of 200 cases one in a hundred asks."""
    lake = make_lake(tmp_path)
    items = [item(f"i{n:03}", f"Photo {n:03}?", () if n % 100 else ("red",)) for n in range(1, 201)]
    ingest(lake, items, [answer(row["item_id"], "a cat") for row in items])
    suite = make_suite(lave_judge(), tried=True)
    assert plan(lake, suite=suite).n_trial == 20
    judge = JudgeSettings(
        "s", "chirp_grading", StandinSettings(), ChirpGradingOptions(method="string_match")
    )
    assert plan(lake, suite=make_suite(judge, tried=True)).n_trial == 0


@pytest.mark.parametrize(
    ("counts", "paused"),
    [
        ({"ok": 9, "unparsed": 11}, True),
        ({"ok": 9, "truncated": 11}, True),
        ({"unparsed": 10}, True),  # half a trial, and none of it could be read
        ({"ok": 10, "unparsed": 10}, False),  # not most
        ({"unparsed": 9}, False),  # too few to show anything
        ({"ok": 1, "failed": 15, "refused": 13}, False),  # no reply, or one that can be read
    ],
)
def test_a_judge_of_which_most_replies_cannot_be_read_is_paused(
    lake: Lake, counts: dict[str, int], paused: bool
) -> None:
    add_verdicts(lake, counts)
    (found,) = find_work(lake, SUITE, Scope())
    assert found.is_paused == paused
    work = plan(lake)
    assert (work.is_paused, work.n_pending == 0, work.shards == ()) == (paused, paused, paused)
    (found,) = find_work(lake, GOES_ON, Scope())
    assert found.n_pending > 0
    assert not found.is_paused


def test_twenty_requests_of_one_case_pause_a_judge_that_asks_a_hundred(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    ingest(lake, ITEMS, [answer(row["item_id"], "a cat") for row in ITEMS])
    options = HarmonicOptions(image="absent", sampling=20, temperature=1.0)
    with batch_server() as server:
        server.live = lambda _: (200, completion("I would rather not say."))
        endpoint = OpenAISettings(model="openai/gpt-4o-mini", base_url=server.base_url)
        judge = JudgeSettings("harmonic", "harmonic", endpoint, options)
        suite = make_suite(judge, tried=True)
        work = plan(lake, suite=suite)
        order = ShardOrder(
            lake, "run", judge, work.identity, suite.limits, work.shards[0], suite.image_root(lake.root), trial=work.n_trial,
        )  # fmt: skip
        assert run_judge_shard(order).n_tried == 20
        assert server.calls["POST /v1/chat/completions"] == 20
    assert not passes_trial(lake, work.identity, "run", ())
    assert plan(lake, suite=suite).is_paused


def test_another_reading_or_another_judge_is_not_paused(lake: Lake) -> None:
    add_verdicts(lake, {"unparsed": 20}, reading="other")
    assert not plan(lake).is_paused
    add_verdicts(lake, {"unparsed": 20})
    assert plan(lake).is_paused
    shots = make_suite(lave_judge(shots=3), benchmarks=("b",), tried=True)
    assert plan(lake, suite=shots).n_trial == 20


def test_whoever_asks_for_the_unreadable_again_gets_a_new_trial(lake: Lake) -> None:
    add_verdicts(lake, {"unparsed": 25})
    for status in ("unparsed", "truncated"):
        work = plan(lake, retry=(status,))
        assert (work.is_paused, work.n_trial, sizes(work)[0] >= 10) == (False, 20, True)
    assert plan(lake, retry=("refused",)).is_paused
    assert not passes_trial(lake, ONE, "run", ())
    # the retried run: of its own replies most were read
    add_verdicts(lake, {"ok": 11, "unparsed": 9}, run_id="again", minute=9)
    assert passes_trial(lake, ONE, "again", ("unparsed",))
    assert not passes_trial(lake, ONE, "again", ())
    add_verdicts(lake, {"unparsed": 20}, run_id="third", minute=10, start=5)
    assert not passes_trial(lake, ONE, "third", ("unparsed",))


def test_replies_count_once_and_so_do_cases_of_several_replies(lake: Lake) -> None:
    """Two criteria of one case with three replies: read where half of the verdicts are."""
    digests = [f"{number:064x}" for number in range(3)]
    about: dict[str, Any] = {"reading": ONE.reading, "reply_digests": digests}
    content = digest_of(ITEMS[0], "a cat")
    append_records(
        lake,
        "verdicts",
        [
            verdict_row(ONE.judge_id, "i00", content, 3, **about),
            verdict_row(ONE.judge_id, "i00", content, None, **about, criterion="clarity"),
        ],
    )
    assert count_readable(warehouse(lake), ONE) == TrialCounts(3, 0)
    append_records(
        lake,
        "verdicts",
        [verdict_row(ONE.judge_id, "i00", content, None, **about, criterion="fluency")],
    )
    assert count_readable(warehouse(lake), ONE) == TrialCounts(0, 3)  # readable_replies: 1 of 3
    assert count_readable(warehouse(lake), ONE, "another run") == TrialCounts(0, 0)


def test_an_estimate_says_that_a_judge_is_paused(lake: Lake) -> None:
    """Its cases that were never asked are no verdicts that the lake has."""
    add_verdicts(lake, {"ok": 2, "unparsed": 12})
    (one,) = estimate_suite(lake, SUITE, Scope()).judges
    assert (one.n_wanted, one.n_present, one.n_pending, one.n_paused) == (60, 14, 0, 46)
    (note,) = [note for note in one.notes if "paused" in note]
    assert note.startswith("lave: paused, 46 cases are left and none is asked")
    assert note.endswith("or ask again with --retry unparsed")
    (one,) = estimate_suite(lake, SUITE, Scope(), ("unparsed",)).judges
    assert (one.n_pending, one.n_paused) == (58, 0)
    assert not [note for note in one.notes if "paused" in note]


def test_a_judge_that_is_asked_by_batch_is_tried_live_and_stays_itself() -> None:
    endpoint = OpenAISettings(model="openai/gpt-4o-mini-2024-07-18", mode="batch", batch_wait_s=5)
    judge = lave_judge(endpoint=endpoint)
    live = judge.live.endpoint
    assert isinstance(live, OpenAISettings)
    assert (live.mode, live.batch_wait_s, live.model) == ("live", 0.0, endpoint.model)
    assert judge.live.identify(("b",)) == judge.identify(("b",))
    price, half = live.known_price, endpoint.known_price
    assert price is not None
    assert half is not None
    assert half.input == pytest.approx(price.input / 2)


def test_the_pause_shows_a_reply_and_the_reason(lake: Lake) -> None:
    add_verdicts(lake, {"ok": 2})
    add_verdicts(lake, {"unparsed": 12}, start=2, reason="no rating at the end")
    assert describe_pause(warehouse(lake), ONE) == [
        "judge lave: paused, 12 of its 14 replies cannot be read (no rating at the end); expected "
        "most to be readable; change the judge, or ask again with --retry unparsed; "
        "`on_unreadable: go on` asks in any case",
        # unread_reply: the first item of the latest; control characters are shown
        r'a reply of lave: "I can not\n\x1b[31m rate 2"',
    ]


def test_a_run_that_leaves_a_paused_judge_ends_with_3(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "check_lake", lambda *_: [])
    add_verdicts(lake, {"unparsed": 12})
    for suite, stages, expected in (
        (SUITE, ("judge",), ExitCode.COVERAGE),
        (SUITE, ("ingest",), ExitCode.DONE),
        (GOES_ON, ("judge",), ExitCode.DONE),
    ):
        with record_run(lake, suite, "r", ()) as record:
            ended = summary.end_run(lake, suite, stages, record)
        assert ended.code == expected
        assert any("paused" in line for line in ended.lines) == (expected != ExitCode.DONE)
