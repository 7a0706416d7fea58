"""The lines of a run: as a person reads them, as JSON, in the lake; and that no key is in any of
them.
"""

import json
from pathlib import Path

import pytest

from judgelake.tasks.errors import LakeError, LeaseError, redact
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.runs import log as conduct
from judgelake.tasks.runs.lease_names import name_judge_leases, name_leases
from judgelake.tasks.runs.log import (
    DEFAULT_OPTIONS,
    RunOptions,
    hold_for_run,
    log_file,
    log_step,
    logged_step,
)
from tests.lakes import lave_judge, make_lake, make_suite


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def test_a_step_is_reported_and_kept(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    with logged_step(lake, "r", DEFAULT_OPTIONS, "ingest") as facts:
        facts |= {"items": 1234, "judges": ["a 1 of 2 cases", "b"], "page": "report.html"}
    log_step(lake, "r", RunOptions(log_format="json"), "report", {"page": "p"})
    human, as_json = capsys.readouterr().err.splitlines()
    assert human == "judgelake: ingest: 1,234 items, a 1 of 2 cases, b, report.html in 0.0 s"
    kept = [json.loads(line) for line in log_file(lake, "r").read_text().splitlines()]
    assert kept[0].pop("at") <= kept[1]["at"]  # to the millisecond
    facts = {
        "items": 1234,
        "judges": ["a 1 of 2 cases", "b"],
        "page": "report.html",
        "seconds": 0.0,
    }
    assert kept[0] == {"run_id": "r", "step": "ingest", **facts}
    assert json.loads(as_json) == kept[1]


def test_a_full_disk_costs_only_the_line(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise LakeError("no room")

    monkeypatch.setattr(conduct, "write_whole", refuse)
    log_step(lake, "r", DEFAULT_OPTIONS, "judge", {"calls": 3})
    assert capsys.readouterr().err == "judgelake: judge: 3 calls\n"


def test_the_holder_is_named_in_the_words_of_the_run(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        hold_for_run(lake, ["n"], "nightly", "r1", DEFAULT_OPTIONS),
        pytest.raises(LeaseError, match="n: run r1 of nightly"),
        hold_for_run(lake, ["n"], "nightly", "r2", RunOptions(wait_s=0.1)),
    ):
        pass
    assert capsys.readouterr().err.startswith("judgelake: lease: waiting: run r1 of nightly (host ")


@pytest.mark.parametrize("format_name", ["text", "json"])
def test_no_key_is_in_a_line(
    lake: Lake,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    format_name: conduct.LogFormat,
) -> None:
    monkeypatch.setenv("MY_ENDPOINT_API_KEY", "un-guessable/value")
    words = (
        'said "Authorization: Bearer abcdefgh1234" to sk-abcdefghijklmnopqrstu with '
        "un-guessable/value"
    )
    log_step(lake, "r", RunOptions(log_format=format_name), "judge", {"says": words})
    for text in (capsys.readouterr().err, log_file(lake, "r").read_text()):
        assert "[key]" in text
        assert not any(key in text for key in ("abcdefgh1234", "sk-abc", "un-guessable"))


def test_short_values_and_plain_words_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "x")
    monkeypatch.setenv("SOMETHING", "an ordinary value")
    assert (
        redact("xylophone, an ordinary value, sk-short") == "xylophone, an ordinary value, sk-short"
    )


def test_suites_share_the_leases_of_what_they_share() -> None:
    """One judge read two ways is one lease; the same metric in two suites is one; a report is its
    suite's own.
    """
    readings = (lave_judge("a", top_logprobs=5), lave_judge("b", top_logprobs=5, rating="weighted"))
    one = make_suite(*readings, metrics=["exact_match"], name="one")
    two = make_suite(lave_judge("c", top_logprobs=5), metrics=["exact_match"], name="two")
    assert name_judge_leases(one) == name_judge_leases(two)
    assert len(name_judge_leases(one)) == 2
    assert set(name_leases(one, ("ingest", "judge", "report"))) - set(
        name_leases(two, ("ingest", "judge", "report"))
    ) == {"report-one"}
