"""`judgelake forget`: exactly the rows of a judge or a benchmark go, under leases, and only with
--yes (benchmark_replies).
"""

import argparse
import dataclasses
import functools
from pathlib import Path

import pytest

from judgelake.flows.forget_command import run_forget
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.leases import HERE, hold_leases
from judgelake.tasks.runs import log as conduct
from tests.lakes import (
    answer,
    append_records,
    case_row,
    digest_of,
    duel_row,
    ingest,
    item,
    judge_row,
    make_lake,
    metric_row,
    query,
    rating,
    reply_row,
    score_row,
    verdict_row,
)

A, B, M, OLD = "a" * 16, "b" * 16, "c" * 16, "d" * 16
ONE, TWO = item("1"), item("2")
D1, D2 = digest_of(ONE, "cat"), digest_of(TWO, "dog")
TABLES = (
    "items",
    "answers",
    "human_ratings",
    "judges",
    "cases",
    "replies",
    "verdicts",
    "duels",
    "metric_scores",
    "ingests",
    "runs",
)


def full(digest: str) -> str:
    return digest.ljust(64, "0")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Judges A and B and metric M on benchmarks `b` and `other`; A's reply `2` serves both
    benchmarks.
    """
    lake = make_lake(tmp_path)
    for benchmark in ("b", "other"):
        ingest(
            lake,
            [ONE, TWO],
            [answer("1", "cat"), answer("2", "dog")],
            [rating("1", 1)],
            benchmark=benchmark,
        )
    append_records(
        lake,
        "judges",
        [
            judge_row("lave", A),
            judge_row("chirp", B),
            metric_row("em", M),
            judge_row("old", OLD, suite="t"),
        ],
    )
    append_records(lake, "judges", [judge_row("old", "e" * 16, suite="t")])
    replies = [
        reply_row(A, "1", cost_usd=0.5),
        reply_row(A, "2", cost_usd=0.25),
        reply_row(A, "3", cost_usd=0.125),
    ]
    append_records(lake, "replies", [*replies, reply_row(B, "1", cost_usd=4.0)])
    append_records(
        lake,
        "cases",
        [case_row(A, "1", D1), case_row(A, "1", D1, benchmark="other"), case_row(B, "1", D1)],
    )
    append_records(lake, "verdicts", [
        verdict_row(A, "1", D1, 3, reply_digests=[full("1")]), verdict_row(A, "2", D2, 3, reply_digests=[full("2")]),
        verdict_row(A, "2", D2, 3, benchmark="other", reply_digests=[full("2"), full("3")]),
        verdict_row(B, "1", D1, 3, reply_digests=[full("1")]),
    ])  # fmt: skip
    append_records(lake, "duels", [duel_row(B, "1", D1, D2, "a", "a")])
    append_records(
        lake,
        "metric_scores",
        [score_row(M, "1", D1, 1.0), score_row(M, "1", D1, 0.5, benchmark="other")],
    )
    return lake


def counts(lake: Lake) -> dict[str, int]:
    return {name: query(lake, f"select count(*) as n from raw_{name}")[0]["n"] for name in TABLES}


def command(
    lake: Lake, *, judge: str | None = None, benchmark: str | None = None, yes: bool = False
) -> int:
    return run_forget(argparse.Namespace(lake=lake.root, judge=judge, benchmark=benchmark, yes=yes))


def test_without_yes_it_only_lists(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    before = counts(lake)
    assert command(lake, judge="lave") == 0
    assert counts(lake) == before
    # by hand: 1 of judges, 2 cases, 3 replies of 0.5 + 0.25 + 0.125 USD, 3 verdicts
    assert capsys.readouterr().out.splitlines() == [
        "judge lave: 9 rows would be forgotten; its replies have cost 0.88 USD, and asking " "again costs that again",
        "  judges: 1 rows in 1 files", "  cases: 2 rows in 1 files", "  replies: 3 rows in 1 files", "  verdicts: 3 rows in 1 files",
        "records of runs stay; add --yes to do it",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["lave", A])
def test_a_judge_goes_whole_and_alone(lake: Lake, name: str) -> None:
    before = counts(lake)
    assert command(lake, judge=name, yes=True) == 0
    assert counts(lake) == before | {
        "judges": before["judges"] - 1,
        "cases": 1,
        "replies": 1,
        "verdicts": 1,
    }
    assert {row["judge_id"] for row in query(lake, "select judge_id from raw_judges")} == {
        B,
        M,
        OLD,
        "e" * 16,
    }
    assert {
        row["judge_id"]
        for name in ("cases", "replies", "verdicts")
        for row in query(lake, f"select * from raw_{name}")
    } == {B}


def test_a_metric_goes_as_a_judge_does(lake: Lake) -> None:
    assert command(lake, judge="em", yes=True) == 0
    assert counts(lake)["metric_scores"] == 0


def test_a_benchmark_goes_from_every_judge_with_the_replies_that_only_it_needs(lake: Lake) -> None:
    before = counts(lake)
    assert command(lake, benchmark="b", yes=True) == 0
    half = {
        name: before[name] // 2
        for name in ("items", "answers", "human_ratings", "ingests", "metric_scores")
    }
    # A's reply 1 and B's reply 1 served `b` alone; A's 2 and 3 serve `other`
    assert counts(lake) == before | half | {"cases": 1, "replies": 2, "verdicts": 1, "duels": 0}
    assert {row["request_digest"][0] for row in query(lake, "select * from raw_replies")} == {
        "2",
        "3",
    }
    for name in ("items", "answers", "cases", "verdicts", "metric_scores"):
        assert {row["benchmark"] for row in query(lake, f"select benchmark from raw_{name}")} == {
            "other"
        }


def test_again_there_is_nothing(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    command(lake, judge="lave", yes=True)
    with pytest.raises(
        SuiteError, match="--judge lave: the lake has no judge or metric of that name"
    ):
        command(lake, judge="lave", yes=True)
    assert "forgotten" in capsys.readouterr().out


def test_names_that_are_not_one_are_refused(lake: Lake) -> None:
    with pytest.raises(
        SuiteError,
        match=r"--judge old: 2 judges of the lake had that name: [de]{16} .*; name it by its id",
    ):
        command(lake, judge="old", yes=True)
    with pytest.raises(SuiteError, match="--benchmark bb: the lake has none of that name"):
        command(lake, benchmark="bb")


def test_whoever_judges_now_is_waited_for(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judge's own run holds it; once it ends, what it has written meanwhile goes too."""
    running = hold_leases(lake, [f"judge-{A}"], "run 1 of s", 0, print)
    running.__enter__()

    def end_after_a_while(_: float) -> None:
        append_records(lake, "verdicts", [verdict_row(A, "9", "9" * 16, 3)])
        running.__exit__(None, None, None)

    patient = functools.partial(
        hold_leases, around=dataclasses.replace(HERE, sleep=end_after_a_while)
    )
    monkeypatch.setattr(conduct, "hold_leases", patient)
    assert command(lake, judge="lave", yes=True) == 0
    assert "waiting: run 1 of s" in capsys.readouterr().err
    assert query(lake, f"select * from raw_verdicts where judge_id = '{A}'") == []
