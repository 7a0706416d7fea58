"""Two reports side by side: differences on the answers that were scored both times, held to scipy's
and to hand arithmetic; answers that were replaced; and what only one of the reports has.
"""

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.suite.suite import ReportSettings
from judgelake.tasks.warehouse.warehouse import go_back, open_warehouse, select_file, select_frame
from tests.lakes import (
    Row,
    answer,
    append_records,
    case_row,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    make_suite,
    query,
    rating,
    verdict_row,
)

OLD, NEW = "a" * 16, "b" * 16
SUITE = make_suite(report=ReportSettings(resamples=400, seed=7))
N = 40
IDS = [f"i{n:02}" for n in range(N)]
RNG = np.random.default_rng(11)
BEFORE = RNG.integers(1, 4, N)
HUMAN = np.clip((BEFORE - 1) / 2 + RNG.normal(0, 0.4, N), 0, 1)
DIGESTS = [digest_of(item(name), f"answer to {name}") for name in IDS]
CHANGED = "select * from changes where difference <> 0 and figure <> 'coverage'"


pytestmark = pytest.mark.usefixtures("bare_reports")


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """40 items of one answer, rated by one person and judged; with its report."""
    lake = make_lake(tmp_path_factory.mktemp("reported"))
    plant(lake)
    build_report(lake, SUITE)
    return lake


@pytest.fixture
def lake(reported: Lake, tmp_path: Path) -> Lake:
    """A copy of its own."""
    return open_lake(shutil.copytree(str(reported.root), tmp_path / "lake"))


def plant(lake: Lake, text: str = "answer to {}", minute: float = 0) -> None:
    ingest(
        lake,
        [item(name) for name in IDS],
        [answer(name, text.format(name)) for name in IDS],
        [rating(name, value) for name, value in zip(IDS, HUMAN, strict=True)],
        minute=minute,
    )
    if not minute:
        append_records(lake, "judges", [judge_row("lave", OLD)])
        judge(lake, OLD, dict(zip(IDS, BEFORE, strict=True)))


def judge(
    lake: Lake,
    judge_id: str,
    ratings: Mapping[str, int],
    digests: list[str] = DIGESTS,
    at: datetime | None = None,
) -> None:
    """Verdicts of a judge on the answers of these items, at a moment or before the last report."""
    planned, judged = ({}, {}) if at is None else ({"planned_at": at}, {"judged_at": at})
    held = [(name, digest) for name, digest in zip(IDS, digests, strict=True) if name in ratings]
    append_records(lake, "cases", [{**case_row(judge_id, *key), **planned} for key in held])
    append_records(
        lake,
        "verdicts",
        [{**verdict_row(judge_id, *key, int(ratings[key[0]])), **judged} for key in held],
    )


def judge_anew(lake: Lake, ratings: Mapping[str, int]) -> None:
    """The same alias with another prompt: another judge of the same answers, a later night."""
    now = datetime.now(UTC)
    append_records(lake, "judges", [judge_row("lave", NEW, registered_at=now)])
    judge(lake, NEW, ratings, at=now)
    build_report(lake, SUITE)


def changed(lake: Lake, figure: str, model: str = "*") -> Row:
    (row,) = [
        row for row in query(lake, CHANGED) if (row["figure"], row["model"]) == (figure, model)
    ]
    return row


def test_a_mean_is_tested_on_the_answers_scored_both_times(lake: Lake) -> None:
    """A cluster an answer: the interval is that of the paired t-test. Three answers get a level
    less, nine one more, of 39 that were scored again.
    """
    ratings = dict(zip(IDS, BEFORE, strict=True))
    for name in [name for name in IDS if ratings[name] > 1][:3]:
        ratings[name] -= 1
    for name in [name for name in IDS[12:] if ratings[name] < 3][:9]:
        ratings[name] += 1
    del ratings[IDS[5]]
    judge_anew(lake, ratings)

    after = np.array([(ratings.get(name, np.nan) - 1) / 2 for name in IDS])
    steps = (after - (BEFORE - 1) / 2)[~np.isnan(after)]
    expected = stats.ttest_1samp(steps, 0).confidence_interval()
    row = changed(lake, "mean", "m1")
    assert (row["tested"], row["n_paired"], row["untested_reason"]) == ("paired", N - 1, None)
    assert row["paired_difference"] == pytest.approx(steps.mean(), abs=1e-12)
    assert (row["paired_low"], row["paired_high"]) == pytest.approx(tuple(expected), abs=1e-12)
    assert row["has_moved"] is bool(expected.low > 0)


def test_a_coefficient_is_tested_on_the_same_resamples(lake: Lake) -> None:
    after = np.where(RNG.random(N) < 0.5, BEFORE, RNG.integers(1, 4, N))
    judge_anew(lake, dict(zip(IDS, after, strict=True)))
    row = changed(lake, "agreement")
    newer, older = (stats.spearmanr(side, HUMAN).statistic for side in (after, BEFORE))
    assert row["tested"] == "paired"
    assert row["paired_difference"] == pytest.approx(newer - older, abs=1e-12)
    # a second bootstrap, of its own draws: its spread gives about the same interval
    picks = np.random.default_rng(0).integers(N, size=(2000, N))
    drawn = [
        stats.spearmanr(after[p], HUMAN[p]).statistic - stats.spearmanr(BEFORE[p], HUMAN[p]).statistic
        for p in picks
    ]  # fmt: skip
    reach = stats.t.ppf(0.975, N - 1) * np.std(drawn)
    assert (row["paired_high"] - row["paired_low"]) / 2 == pytest.approx(reach, rel=0.15)
    assert row["has_moved"] is not bool(row["paired_low"] <= 0 <= row["paired_high"])


def test_pairs_show_what_two_intervals_hide(lake: Lake) -> None:
    """Six of 40 answers get a level more and none less: 0.075 of a mean whose own interval is twice
    as wide.
    """
    ratings = dict(zip(IDS, BEFORE, strict=True))
    for name in [name for name in IDS if ratings[name] < 3][:6]:
        ratings[name] += 1
    judge_anew(lake, ratings)
    row = changed(lake, "mean", "m1")
    assert row["difference"] == pytest.approx(6 * 0.5 / N)
    reach = np.hypot(row["high"] - row["low"], row["base_high"] - row["base_low"]) / 2
    assert row["difference"] < reach  # what intervals alone would say
    assert row["has_moved"]
    page = (lake.mirror / "reports" / "s" / "report.html").read_text()
    assert "on the 40 answers scored both times" in page


@pytest.mark.parametrize("is_known", [True, False])
def test_replaced_answers_are_paired_by_what_they_were(lake: Lake, *, is_known: bool) -> None:
    """Without a note of the contents of then, their verdicts are nobody's, and nothing is paired."""
    now = datetime.now(UTC)
    plant(lake, "another answer to {}", minute=9)
    digests = [digest_of(item(name), f"another answer to {name}") for name in IDS]
    better = np.minimum(BEFORE + (np.arange(N) % 4 > 0), 3)
    judge(lake, OLD, dict(zip(IDS, better, strict=True)), digests, at=now)
    if is_known:
        append_records(lake, "replaced_answers", [
            {"benchmark": "b", "item_id": name, "answer_id": "m1", "content_digest": digest, "replaced_at": now}
            for name, digest in zip(IDS, DIGESTS, strict=True)
        ])  # fmt: skip
    build_report(lake, SUITE)
    row = changed(lake, "mean", "m1")
    expected = stats.ttest_1samp((better - BEFORE) / 2, 0).confidence_interval()
    if is_known:
        assert row["tested"] == "paired"
        assert (row["paired_low"], row["paired_high"]) == pytest.approx(tuple(expected))
    else:
        assert (row["tested"], row["paired_low"]) == ("intervals", None)
        assert "not in the lake any more" in row["untested_reason"]


def test_a_warehouse_goes_back_to_the_scores_of_a_moment(lake: Lake) -> None:
    then = datetime.now(UTC)
    judge_anew(lake, dict.fromkeys(IDS, 3))
    now = datetime.now(UTC)
    append_records(lake, "replaced_answers", [{
        "benchmark": "b", "item_id": IDS[0], "answer_id": "m1", "content_digest": "f" * 16, "replaced_at": now,
    }])  # fmt: skip
    assert query(lake, "select item_id from stg_replaced_answers") == [{"item_id": IDS[0]}]
    asked = {"benchmark": "b", "judge": "lave"}
    with open_warehouse(lake, lazy=True, alone=True) as connection:
        go_back(connection, then)
        text = "select judge_id, count(score_0_1) as n from core_scores group by all"
        assert select_frame(connection, text, "core_scores").rows() == [(OLD, N - 1)]
        rows = select_file(connection, "queries/scored_answers.sql", asked)
    assert rows["item_id"].to_list() == IDS[1:]  # the first had another content then
    assert rows["total"].to_list() == [(value - 1) / 2 for value in BEFORE[1:]]


def test_what_only_one_report_has_is_named(lake: Lake) -> None:
    now = datetime.now(UTC)
    append_records(lake, "judges", [judge_row("strict", NEW, registered_at=now)])
    judge(lake, NEW, dict.fromkeys(IDS, 2), at=now)
    page = Path(str(build_report(lake, SUITE)))
    shown = " ".join(page.read_text().split())
    assert "New on <code>b</code>: judge <code>strict</code>." in shown
    assert "Gone on <code>b</code>: judge <code>lave</code>." in shown
    assert "New on `b`: judge `strict`." in page.with_suffix(".md").read_text()
    bases = query(lake, "select min(reported_at) as at from results")
    with open_warehouse(lake, lazy=True) as connection:
        asked = {"suite": "s", "base": bases[0]["at"]}
        found = select_file(connection, "queries/come_and_gone.sql", asked)
    assert found.select("kind", "name", "is_new").rows() == [
        ("judge", "strict", True),
        ("judge", "lave", False),
    ]


@pytest.mark.full
def test_figures_are_paired_once_and_with_another_lake_too(lake: Lake, tmp_path: Path) -> None:
    other = make_lake(tmp_path / "other")
    plant(other)
    build_report(other, SUITE)
    ratings = dict(zip(IDS, np.minimum(BEFORE + 1, 3), strict=True))
    judge_anew(lake, ratings)
    kept = query(lake, "select figure, model, n, difference from stg_paired_changes order by all")
    assert {row["figure"] for row in kept} == {"agreement", "mean"}
    build_report(lake, SUITE)
    page = Path(str(build_report(lake, SUITE, str(other.root))))
    assert "on the 40 answers scored both times" in page.read_text()
    again = query(lake, "select figure, model, n, difference from stg_paired_changes order by all")
    assert again == kept
