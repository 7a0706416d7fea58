"""Labels by rule in a report: which answers get them, under which name, and how the page shows
failures and biases.
"""

import re
from pathlib import Path

import pytest

from judgelake.tasks.failures.labels import label_failures
from judgelake.tasks.failures.wordnet import load_wordnet
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.reports.exports import page_path
from judgelake.tasks.reports.page.bias_sections import BIAS_SECTIONS, FAILURE_SECTIONS
from judgelake.tasks.suite.suite import ReportSettings
from tests.lakes import (
    answer,
    append_records,
    at,
    digest_of,
    ingest,
    item,
    make_lake,
    make_suite,
    metric_row,
    query,
    rating,
    score_row,
    warehouse,
)
from tests.wordnets import write_wordnet

M = "c" * 16
SUITE = make_suite(report=ReportSettings(resamples=2, seed=0))
TEXTS = {"i0": "cats", "i1": "the black cat", "i2": "dog", "i3": "cats"}
CATEGORIES = ("same_stem", "specificity_or_verbosity", "unknown")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """People call all but i3 correct, exact matching calls nothing correct."""
    lake = make_lake(tmp_path)
    items = {name: item(name, f"Q {name}") for name in TEXTS}
    ratings = [rating(name, float(name != "i3")) for name in TEXTS]
    append_records(lake, "judges", [metric_row("exact_match", M, call_signature="exact_match|x")])
    ingest(
        lake, list(items.values()), [answer(name, text) for name, text in TEXTS.items()], ratings
    )
    append_records(
        lake,
        "metric_scores",
        [score_row(M, name, digest_of(items[name], text), 0.0) for name, text in TEXTS.items()],
    )
    return lake


def test_answers_on_which_people_and_string_matching_differ_are_labelled(lake: Lake) -> None:
    frame = label_failures(warehouse(lake), SUITE)
    assert frame.select("item_id", "category", "holds").rows() == [
        (
            name,
            category,
            (name, category) in {("i0", "same_stem"), ("i1", "specificity_or_verbosity")},
        )
        for name in ("i0", "i1", "i2")
        for category in CATEGORIES
    ]
    assert frame["labeller"].unique().to_list() == ["rules|version:1|wordnet:none"]
    assert frame["content_digest"][0] == digest_of(item("i0", "Q i0"), "cats")
    assert label_failures(warehouse(lake), make_suite(benchmarks=["other"])).is_empty()


def test_where_wordnet_is_installed_synonyms_and_hypernyms_are_labelled_too(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NLTK_DATA", str(write_wordnet(tmp_path / "nltk")))
    load_wordnet.cache_clear()
    frame = label_failures(warehouse(lake), SUITE)
    load_wordnet.cache_clear()
    assert frame["labeller"].unique().to_list() == ["rules|version:1|wordnet:3.0"]
    assert set(frame["category"]) == {*CATEGORIES, "synonym", "hypernym"}


@pytest.mark.usefixtures("bare_reports")
def test_a_report_keeps_the_labels_in_place_of_the_former_ones_and_shows_them(lake: Lake) -> None:
    old = {
        "suite": "s",
        "benchmark": "b",
        "item_id": "i0",
        "content_digest": digest_of(item("i0", "Q i0"), "cats"),
        "holds": True,
    }
    append_records(
        lake,
        "rule_labels",
        [old | {"labeller": "rules|version:0", "category": "unknown", "reported_at": at(1)}],
    )
    build_report(lake, SUITE)
    found = query(
        lake,
        "select labeller, category, n_holds, n, share from rpt_failure_modes where n_holds > 0",
    )
    assert [tuple(row.values()) for row in found] == [
        ("rules|version:1|wordnet:none", "same_stem", 1, 3, pytest.approx(1 / 3)),
        ("rules|version:1|wordnet:none", "specificity_or_verbosity", 1, 3, pytest.approx(1 / 3)),
    ]
    assert query(lake, "select count(*) as n from raw_rule_labels") == [{"n": 9}]
    page = page_path(lake, SUITE).read_text()
    shown = set(re.findall(r'<details class="table" id="(\w+)"', page)) & {
        section.name for section in (*FAILURE_SECTIONS, *BIAS_SECTIONS)
    }
    assert shown == {
        "calibration",
        "failures",
        "failuremodes",
        "failurescores",
        "leniency",
        "length",
        "scale",
    }
