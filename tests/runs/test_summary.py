"""How a run ended: which code it earns, what it prints; and that every code is reached by what it
stands for.
"""

import itertools
import pickle
import shlex
from pathlib import Path
from typing import Any

import pytest

from judgelake.flows.cli import make_parser
from judgelake.flows.run_command import run_suite
from judgelake.tasks.engine.shard import ShardResult
from judgelake.tasks.errors import (
    MEANINGS,
    BackendError,
    ClusterError,
    ExitCode,
    LakeError,
    LeaseError,
    RunError,
    SuiteError,
    combine_codes,
    describe_codes,
    find_code,
)
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.stop_flag import LOST, set_stop
from judgelake.tasks.lake.storage import has_file, write_whole
from judgelake.tasks.planning.cases import register_judges
from judgelake.tasks.runs import summary as run_end
from judgelake.tasks.runs.left import expect_ingested
from judgelake.tasks.runs.log import DEFAULT_OPTIONS, log_step
from judgelake.tasks.runs.record import RunRecord, record_run
from judgelake.tasks.runs.summary import end_run
from judgelake.tasks.suite.suite import identify_all
from judgelake.tasks.warehouse.checks import Finding
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    case_row,
    digest_of,
    ingest,
    item,
    lave_judge,
    make_lake,
    make_suite,
    query,
    rating,
    reply_row,
    verdict_row,
)

A = "a" * 16
ALL = ("ingest", "judge", "report")
WRONG = Finding(
    "chk_verdict_without_case", 1, "every verdict is on a case that some run wanted", warns=False
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """All views of the checks take longer than the rest of a test."""
    monkeypatch.setattr(run_end, "check_lake", lambda *_: [])


def end(
    lake: Lake, *shards: ShardResult, stages: tuple[str, ...] = ALL, failures: tuple[str, ...] = ()
) -> run_end.RunEnd:
    with record_run(lake, make_suite(), "r", stages) as record:
        record.shards, record.failures = shards, failures
        return end_run(lake, make_suite(), stages, record)


def run_row(lake: Lake) -> Row:
    (row,) = query(lake, "select * from stg_runs")
    return row


# ---- codes


def test_1_and_2_win_and_else_the_highest_stands() -> None:
    """By hand: of 4, 5 and 3 it is 5; of 1 and 7 it is 1; of 1, 2 and 6 it is 2."""
    assert combine_codes([]) == 0
    assert combine_codes(map(ExitCode, (4, 5, 3))) == 5
    assert combine_codes(map(ExitCode, (1, 7))) == 1
    assert combine_codes(map(ExitCode, (6, 2, 1))) == 2
    for codes in itertools.permutations(ExitCode, 3):
        assert combine_codes(codes) == combine_codes(sorted(codes))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SuiteError("x"), 1), (BackendError("x"), 1), (LakeError("x"), 2), (ClusterError("x"), 2), (LeaseError("x"), 6),
        (RunError(7, ["x"]), 7), (KeyboardInterrupt(), 130), (ZeroDivisionError("x"), 2), (MemoryError(), 2),
    ],
)  # fmt: skip
def test_errors_have_codes(error: BaseException, code: int) -> None:
    assert find_code(error) == code


def test_every_code_is_explained_in_help() -> None:
    assert set(MEANINGS) == set(ExitCode)
    assert "; 6 another run holds the lake; 7 all asked" in describe_codes()


def test_an_end_that_is_raised_holds_its_lines_and_travels() -> None:
    error = RunError(5, ["run r: done", "check: 1 row"])
    again = pickle.loads(pickle.dumps(error))
    assert (str(error), again.code, again.lines) == (
        "run r: done\ncheck: 1 row",
        5,
        ("run r: done", "check: 1 row"),
    )


# ---- what a run earns


def test_a_run_with_everything_there(lake: Lake) -> None:
    ended = end(lake, ShardResult(5, 1, 1000, 100, (("failed", 2), ("ok", 4)), 1.234))
    assert ended.code == 0
    first, report, *rest = ended.lines
    assert first.startswith("run r: done in 0.")
    assert first.endswith(
        " s; 5 calls, 1 replies reused, 6 verdicts, 2 failed, 1,100 tokens, 1.23 USD"
    )
    assert report == f"report: {lake.root}/reports/s/report.html"
    assert rest == []  # no query has rows
    assert (run_row(lake)["outcome"], run_row(lake)["exit_code"]) == ("done", 0)


@pytest.mark.usefixtures("unchecked")
def test_the_queries_to_try_have_rows(lake: Lake) -> None:
    """Metrics and judges of the suite have their tables; else what the lake holds decides."""
    ingest(lake, [item("1")], [answer("1", "cat")], [rating("1", 1, "ann"), rating("1", 1, "bob")])
    with record_run(lake, make_suite(), "r", ALL) as record:
        plain = end_run(lake, make_suite(), ALL, record).lines
        with_judge = end_run(lake, make_suite(lave_judge()), ALL, record).lines
    tries = [shlex.split(line)[-1] for line in plain if line.startswith("try: ")]
    assert [text.split(" from ")[1].split()[0] for text in tries] == ["rpt_agreement", "answers"]
    assert all(query(lake, text) for text in tries)
    assert any("from rpt_coverage" in line for line in with_judge)


@pytest.mark.usefixtures("unchecked")
def test_quarantined_rows_are_named_at_the_end(tmp_path: Path, lake: Lake) -> None:
    for benchmark, n in (("b", 1200), ("c", 0), ("other", 7)):
        row = {
            "ingest_id": benchmark,
            "benchmark": benchmark,
            "source": "given",
            "source_digest": "0",
        }
        counts = {"n_items": 0, "n_answers": 0, "n_quarantined": n, "item_limit": None}
        append_records(lake, "ingests", [{**row, **counts, "ingested_at": at(1)}])
    suite = make_suite(benchmarks=("b", "c"))
    with record_run(lake, suite, "r", ALL) as record:
        ended = end_run(lake, suite, ("ingest",), record)
    assert ended.code == 0
    assert ended.lines[1] == (
        f'quarantined: 1,200 rows of b; see: judgelake sql --lake {lake.argument} "from '
        f'rpt_quarantine" (`strict: true` in the suite refuses such files)'
    )
    assert not any(
        line.startswith("quarantined") for line in end(make_lake(tmp_path / "other")).lines
    )


@pytest.mark.usefixtures("unchecked")
def test_a_log_is_named_where_there_is_one(lake: Lake) -> None:
    log_step(lake, "r", DEFAULT_OPTIONS, "ingest", {"items": 1})
    assert end(lake).lines[-1] == f"log: {lake.root}/_logs/r.jsonl"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("shard", "failures", "code", "outcome", "says"),
    [
        (ShardResult(1, 0, 1, 1, (), over_budget=True), (), 4, "over budget", "budget: reached"),
        (
            ShardResult(1, 0, 1, 1, (), n_open=1234),
            (),
            7,
            "done",
            "open: 1,234 cases wait for a batch",
        ),
        (
            ShardResult(1, 0, 1, 1, (), over_budget=True, n_open=1),
            (),
            7,
            "over budget",
            "open: 1 cases",
        ),
        (
            ShardResult(1, 0, 1, 1, (), n_open=1),
            ("meteor: no Java",),
            1,
            "failed",
            "judgelake: meteor: no Java",
        ),
    ],
)
def test_what_the_shards_hand_in(
    lake: Lake, shard: ShardResult, failures: tuple[str, ...], code: int, outcome: str, says: str
) -> None:
    ended = end(lake, shard, failures=failures)
    assert (ended.code, run_row(lake)["exit_code"], run_row(lake)["outcome"]) == (
        code,
        code,
        outcome,
    )
    assert any(line.startswith(says) for line in ended.lines)


@pytest.mark.usefixtures("unchecked")
def test_calls_of_unknown_price_make_the_cost_unknown(lake: Lake) -> None:
    ended = end(lake, ShardResult(2, 0, 1, 1, (), 0.5, n_unpriced=1))
    assert ended.lines[0].endswith(", cost not known")
    assert run_row(lake)["cost_usd"] is None


@pytest.mark.parametrize("stages", [("ingest",), ALL])
@pytest.mark.parametrize("is_wrong", [False, True])
@pytest.mark.parametrize("is_thin", [False, True])
def test_the_highest_code_stands(
    lake: Lake,
    monkeypatch: pytest.MonkeyPatch,
    stages: tuple[str, ...],
    is_wrong: bool,
    is_thin: bool,
) -> None:
    """Coverage is reported where judging or reporting was a stage, checks of every stage."""
    is_covered = {"judge", "report"} & {*stages}
    thin = (
        run_end._EndSection(ExitCode.COVERAGE, ["coverage: lave"])
        if is_thin
        else run_end._EndSection(ExitCode.DONE, [])
    )
    monkeypatch.setattr(run_end, "_describe_coverage", lambda *_: thin)
    monkeypatch.setattr(run_end, "check_lake", lambda *_: [WRONG] if is_wrong else [])
    expected = 5 if is_wrong else 3 if is_thin and is_covered else 0
    ended = end(lake, stages=stages)
    assert ended.code == expected
    assert ("coverage: lave" in ended.lines) == bool(is_thin and is_covered)


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("500 boom", "run again to ask for them"),
        ("the item has no reference answers", "add what is missing to the files and ingest again"),
    ],
)
def test_judging_alone_that_failed_ends_as_a_run_does(
    tmp_path: Path, reason: str, remedy: str
) -> None:
    """4 of 4 failed: `judge` ended with 0."""
    lake, suite = make_lake(tmp_path), make_suite(lave_judge())
    items = [item(f"i{number}") for number in range(4)]
    ingest(lake, items, [answer(f"i{number}", "x") for number in range(4)])
    register_judges(lake, suite)
    (one,) = identify_all(suite)
    digest = digest_of(items[0], "x")
    failed: dict[str, Any] = {"reading": one.reading, "status": "failed", "reason": reason}
    for table, rows in (
        ("cases", [case_row(one.judge_id, row["item_id"], digest) for row in items]),
        (
            "verdicts",
            [verdict_row(one.judge_id, row["item_id"], digest, None, **failed) for row in items],
        ),
    ):
        append_records(lake, table, rows)
    ends = []
    for stages in (("judge",), ALL):
        with record_run(lake, suite, "r", stages) as record:
            ends.append(end_run(lake, suite, stages, record))
    assert [ended.code for ended in ends] == [3, 3]
    (line,) = [line for line in ends[0].lines if line.startswith("coverage: ")]
    assert line.startswith("coverage: lave has 0.0 % of its scores on b; expected 98.0 %")
    assert f"4 failed, most with: {reason}; {remedy}" in line
    assert line in ends[1].lines


def test_judging_an_empty_lake_says_what_to_do_first(tmp_path: Path) -> None:
    lake, suite = make_lake(tmp_path), make_suite(lave_judge(), benchmarks=("b", "c"))
    ingest(lake, [item("1")], [answer("1", "x")])
    with pytest.raises(SuiteError, match=r"has no answers of c; expected .*; run ingest first: "):
        expect_ingested(lake, suite)
    ingest(lake, [item("1")], [answer("1", "x")], benchmark="c")
    expect_ingested(lake, suite)
    file = tmp_path / "suite.yaml"
    file.write_text("name: s\nbenchmarks: {demo: {source: demo}}\n")
    words = ["judge", str(file), "--lake", str(tmp_path / "none")]
    with pytest.raises(SuiteError, match=r"none: has no answers of demo; .*run ingest first"):
        run_suite(make_parser().parse_args(words))


def test_checks_are_reported_with_the_view_that_shows_the_rows(tmp_path: Path) -> None:
    """One verdict on a case that nobody wanted; two replies of one judge from two snapshots, which
    is a warning. The command can be pasted, whatever the lake's folder is called.
    """
    lake = make_lake(tmp_path / "lakes of mine")
    ingest(lake, [item("1")])
    append_records(lake, "verdicts", [verdict_row(A, "1", "d" * 16, 3)])
    append_records(lake, "replies", [reply_row(A, "1"), reply_row(A, "2", resolved_model="gpt-2")])
    ended = end(lake, stages=("judge",))
    assert ended.code == 5
    reported = [line for line in ended.lines if line.startswith(("warning", "check", "see"))]
    assert "check: 1 row against: every verdict is on a case that some run wanted" in reported
    words = ["see:", "judgelake", "sql", "--lake", str(lake.root)]
    commands = [shlex.split(line) for line in reported if line.startswith("see")]
    assert [*words, "select * from chk_verdict_without_case"] in commands
    assert (
        "warning: 2 rows against: all replies of a judge's model came from one snapshot of it"
        in reported
    )


def test_a_warning_fails_no_run(lake: Lake) -> None:
    append_records(lake, "replies", [reply_row(A, "1"), reply_row(A, "2", resolved_model="gpt-2")])
    ended = end(lake, stages=("judge",))
    assert ended.code == 0
    assert any(line.startswith("warning: 2 rows") for line in ended.lines)


@pytest.mark.parametrize(
    ("flag", "code", "says"),
    [(b"", 130, "stopped before the end"), (LOST, 6, "stopped: another run")],
)
def test_a_stopped_run_is_not_checked(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, flag: bytes, code: int, says: str
) -> None:
    monkeypatch.setattr(run_end, "check_lake", lambda *_: [WRONG])
    with record_run(lake, make_suite(), "r", ALL) as record:
        set_stop(lake, "r", flag)
        ended = end_run(lake, make_suite(), ALL, record)
    assert (ended.code, run_row(lake)["outcome"], run_row(lake)["exit_code"]) == (
        code,
        "stopped",
        code,
    )
    assert [line.startswith(says) for line in ended.lines] == [False, True]


@pytest.mark.parametrize(
    ("error", "code", "outcome"),
    [(LakeError("x"), 2, "failed"), (KeyboardInterrupt(), 130, "stopped")],
)
def test_a_run_that_raises_has_its_code_in_the_history(
    lake: Lake, error: BaseException, code: int, outcome: str
) -> None:
    def fail() -> None:
        with record_run(lake, make_suite(), "r", ALL):
            raise error

    with pytest.raises(type(error)):
        fail()
    assert (run_row(lake)["exit_code"], run_row(lake)["outcome"]) == (code, outcome)


def test_where_nothing_can_be_written_the_first_error_stands(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise LakeError("no room")

    def fail(record: RunRecord) -> None:
        monkeypatch.setattr("judgelake.tasks.runs.record.append_records", refuse)
        assert record.code is None
        raise BackendError("the key is wrong")

    def run() -> None:
        with record_run(lake, make_suite(), "r", ALL) as record:
            fail(record)

    with pytest.raises(BackendError, match="the key is wrong"):
        run()


def test_the_work_folder_makes_room_for_the_row_of_a_run_that_failed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    was_there = []

    def look(*given: object) -> None:
        was_there.append(has_file(lake.work_folder("r")))
        append_records(*given)  # type: ignore[arg-type]

    def run() -> None:
        with record_run(lake, make_suite(), "r", ALL):
            write_whole(lake.work_folder("r") / "cases.parquet", b"large")
            monkeypatch.setattr("judgelake.tasks.runs.record.append_records", look)
            raise LakeError("no room")

    with pytest.raises(LakeError, match="no room"):
        run()
    assert (was_there, run_row(lake)["outcome"]) == ([False], "failed")


def test_a_clock_set_back_leaves_the_last_word_of_a_run_the_last(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row that says `done` is later than the one that says `running`, whatever the computer's
    clock did meanwhile.
    """
    from judgelake.tasks.lake import leases as clock

    class SetBack:
        def __init__(self) -> None:
            self.times = iter([at(60), at(0), at(0), at(0)])

        def now(self, _zone: object) -> object:
            return next(self.times)

    monkeypatch.setattr(clock, "datetime", SetBack())
    with record_run(lake, make_suite(), "r", ALL):
        pass
    row = run_row(lake)
    assert row["outcome"] == "done"
    assert at(60) <= row["started_at"] <= row["ended_at"]
