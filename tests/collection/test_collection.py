"""A whole collection against the real stand-in over HTTP: what it makes, that nothing is asked
twice, and that its file is training data.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from judgelake.tasks.collection.export import write_collection
from judgelake.tasks.collection.figures import report_figures
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.stop_flag import stop_file
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.reports.page.collection_sections import COLLECTION_SECTIONS
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.sources.prometheus_vision import (
    PrometheusVisionSettings,
    read_prometheus_vision,
)
from judgelake.tasks.standin.process import StandinProcess, start_standin
from judgelake.tasks.suite.suite import Suite, identify_all, parse_suite, suite_of_collection
from judgelake.tasks.warehouse.checks import check_lake
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.backends.asking import read_log
from tests.collection.collecting import collect, read_collection
from tests.lakes import make_lake, query

COUNTS = """
select
    (select count(*) from stg_collected_rubrics) as rubrics,
    (select count(*) from stg_screened_rubrics) as screened,
    (select count(*) from stg_collected_instructions) as instructions,
    (select count(*) from stg_collected_responses) as responses,
    (select count(*) from stg_replies) as replies
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("standin") / "log.jsonl"


@pytest.fixture(scope="module")
def standin(log: Path) -> Iterator[StandinProcess]:
    faults = {"500": 0.1, "429": 0.1, "truncate": 0.05, "garbage": 0.05, "reset": 0.05}
    with start_standin(log=log, faults=faults, retry_after_s=0.01) as process:
        yield process


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return read_collection(tmp_path_factory.mktemp("suite"), ", max_attempts: 12, timeout_s: 30")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, suite: Suite, standin: StandinProcess) -> Lake:
    lake = make_lake(tmp_path_factory.mktemp("collected"))
    collect(lake, suite, "first", standin.base_url)
    return lake


def copy_replies(lake: Lake, folder: Path) -> Lake:
    """A new lake with the replies of another one, and none of its other rows."""
    copied = make_lake(folder)
    shutil.copytree(str(lake.root / "replies"), str(copied.root / "replies"))
    return copied


def test_every_stage_makes_all_of_its_rows_in_spite_of_faults(lake: Lake, log: Path) -> None:
    (row,) = query(lake, COUNTS)
    assert row["rubrics"] == 3 * 6
    kept = query(lake, "select count(*) as n from stg_screened_rubrics where is_kept")[0]["n"]
    assert isinstance(kept, int)
    assert kept > 0
    assert row["instructions"] == 2 * kept
    assert row["responses"] == 5 * 2 * kept
    assert {line["fault"] for line in read_log(log)} >= {None, "500", "429", "truncate"}
    scores = query(
        lake,
        "select score, count(*) as n from stg_collected_responses where status = 'ok' group by score",
    )
    assert {line["score"]: line["n"] for line in scores} == dict.fromkeys(range(1, 6), 2 * kept)


def test_nothing_is_left_and_nothing_is_asked_twice(
    lake: Lake, suite: Suite, standin: StandinProcess, log: Path
) -> None:
    before, asked = query(lake, COUNTS), len(read_log(log))
    assert collect(lake, suite, "again", standin.base_url) == []
    assert (query(lake, COUNTS), len(read_log(log))) == (before, asked)
    good = Counter(line["digest"] for line in read_log(log) if line["fault"] is None)
    assert {*good.values()} == {1}


def test_the_lake_is_sound(lake: Lake) -> None:
    assert [
        finding for finding in check_lake(lake, open_warehouse(lake)) if not finding.warns
    ] == []


def test_another_reading_makes_no_call(
    lake: Lake, suite: Suite, standin: StandinProcess, log: Path, tmp_path: Path
) -> None:
    asked, copied = len(read_log(log)), copy_replies(lake, tmp_path)
    other = read_collection(tmp_path, ", max_attempts: 12, timeout_s: 30, longest_ratio: 1")
    results = collect(copied, other, "stricter", standin.base_url)
    assert len(read_log(log)) == asked
    assert sum(result.n_replies_reused for result in results) > 0


def test_what_came_before_a_stop_is_used_again(
    tmp_path: Path, suite: Suite, standin: StandinProcess, lake: Lake
) -> None:
    """The collection of a lake that has the replies of another one's, and lost all rows of them."""
    copied = copy_replies(lake, tmp_path)
    results = collect(copied, suite, "resumed", standin.base_url)
    assert sum(result.n_calls for result in results) == 0
    assert query(copied, COUNTS) == query(lake, COUNTS)


def test_a_stopped_collection_asks_nothing(
    tmp_path: Path, suite: Suite, standin: StandinProcess
) -> None:
    lake = make_lake(tmp_path)
    stop_file(lake, "halted-0").parent.mkdir(parents=True, exist_ok=True)
    stop_file(lake, "halted-0").touch()
    results = collect(lake, suite, "halted", standin.base_url)
    assert sum(result.n_calls for result in results) == 0


def test_the_file_is_training_data(lake: Lake, suite: Suite, tmp_path: Path) -> None:
    file = tmp_path / "out" / "collected.json"
    identities = {identity.alias: identity for identity in identify_all(suite)}
    written = write_collection(lake, identities, file)
    records = json.loads(file.read_text())
    assert written.n_rows == len(records) > 0
    assert f"training rows: {len(records):,} in {file}" in written.lines
    frames = read_prometheus_vision(PrometheusVisionSettings(training=(file,), judge="standin"))
    assert frames.rejected == ()
    assert frames.answers.height == frames.recorded_verdicts.height == len(records)
    assert {*frames.recorded_verdicts["judge"]} == {"standin"}
    ratings = Counter(frames.recorded_verdicts["rating"])
    assert {*ratings} == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert len({*ratings.values()}) == 1
    kept = {
        row["instruction"]
        for row in query(lake, "select instruction from stg_collected_instructions")
    }
    assert {*frames.items["prompt"]} <= kept


def test_figures_of_the_collection(lake: Lake, suite: Suite) -> None:
    identities = {identity.alias: identity for identity in identify_all(suite)}
    report_figures(lake, suite.name, identities)
    kept = query(lake, "select count(*) as n from stg_screened_rubrics where is_kept")[0]["n"]
    assert isinstance(kept, int)
    found = query(
        lake,
        "select figure, sum(n)::int as n, count(*) as rows from collection_figures group by figure",
    )
    rows = {row["figure"]: (row["n"], row["rows"]) for row in found}
    pairs = kept * (kept - 1) // 2
    assert rows == {
        "mean_overlap": (pairs, 1),
        "overlap": (pairs, 20),
        "sentiment": (5 * kept, 5),
        "decisive": (kept, 1),
    }


def test_report_views(lake: Lake) -> None:
    (made,) = query(lake, "select count(*) as n from stg_screened_rubrics where is_kept")
    sizes = {row["component"]: row["n"] for row in query(lake, "from rpt_collected_sizes")}
    assert sizes["images"] == 6
    assert sizes["score rubrics"] == made["n"]
    scores = query(lake, "from rpt_collected_scores")
    assert [row["score"] for row in scores] == [1, 2, 3, 4, 5]
    assert {row["share"] for row in scores} == {0.2}
    assert {row["mean_ratio"] for row in scores} == {1.0}  # the stand-in keeps the lengths
    outcomes = query(lake, "from rpt_collected_outcomes")
    assert outcomes[0]["table_name"] == "collected_rubrics"
    whole = {row["table_name"]: row["n"] for row in outcomes if row["outcome"] == "kept"}
    assert whole["collected_rubrics"] == made["n"]
    words = query(lake, "from rpt_collected_keywords")
    assert {row["kind"] for row in words} <= {"general", "domain"}
    assert sum(1 for row in words) > 0


def frame_of(lake: Lake, table: str) -> pd.DataFrame:
    return pd.DataFrame(query(lake, f"select * from stg_{table}"))


def rows_of(lake: Lake, view: str, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in columns) for row in query(lake, f"from {view}"))


CASE = ["judge_id", "reading", "benchmark", "context_digest", "criterion"]


def test_report_views_have_a_second_implementation(lake: Lake) -> None:
    """The same figures with pandas from the tables."""
    rubrics, instructions, responses = (
        frame_of(lake, f"collected_{name}") for name in ("rubrics", "instructions", "responses")
    )
    marks = frame_of(lake, "screened_rubrics")[[*CASE, "is_kept"]]
    rubrics = rubrics.merge(marks, on=CASE, how="left")
    whole = {
        "rubrics": rubrics[(rubrics.status == "ok") & rubrics.is_kept.eq(True)],
        "instructions": instructions[instructions.status == "ok"],
        "responses": responses[responses.status == "ok"],
    }
    n_images = rubrics.context_digest.nunique()
    sizes = {
        "images": n_images,
        "score rubrics": len(whole["rubrics"]),
        "instructions with reference answers": len(whole["instructions"]),
        "responses with feedback and score": len(whole["responses"]),
    }
    found = rows_of(lake, "rpt_collected_sizes", "component", "n", "n_per_image")
    assert found == sorted((name, n, n / n_images) for name, n in sizes.items())

    lengths = whole["responses"].assign(
        ratio=whole["responses"].n_words / whole["responses"].n_reference_words
    )
    expected = [
        (
            score,
            len(group),
            len(group) / len(lengths),
            group.n_words.mean(),
            group.n_words.median(),
            group.n_words.quantile(0.05),
            group.n_words.quantile(0.95),
            group.ratio.mean(),
        )
        for score, group in lengths.groupby("score")
    ]
    columns = ("score", "n", "share", "mean_words", "median_words", "low_words", "high_words")
    scores = rows_of(lake, "rpt_collected_scores", *columns, "mean_ratio")
    assert np.array(scores) == pytest.approx(np.array(expected))

    words = Counter(
        (row.kind, word) for row in whole["rubrics"].itertuples() for word in {*row.keywords}
    )
    found = rows_of(lake, "rpt_collected_keywords", "kind", "keyword", "n")
    assert found == sorted((kind, word, n) for (kind, word), n in words.items())

    outcomes = Counter(
        ("collected_rubrics", "near_duplicate" if row.is_kept is False else "kept")
        if row.status == "ok"
        else ("collected_rubrics", row.status)
        for row in rubrics.itertuples()
    )
    for table, made in (("instructions", instructions), ("responses", responses)):
        outcomes.update(
            (f"collected_{table}", "kept" if status == "ok" else status) for status in made.status
        )
    shown = Counter[tuple[str, str]]()
    for table, outcome, n in rows_of(lake, "rpt_collected_outcomes", "table_name", "outcome", "n"):
        shown[table, outcome] += n
    assert shown == outcomes
    total = sum(row["share"] for row in query(lake, "from rpt_collected_outcomes"))
    assert total == pytest.approx(3)  # of each of the three collectors, all


def test_a_suite_without_a_collection_says_so(tmp_path: Path) -> None:
    suite = parse_suite(tmp_path / "s.yaml", "name: s\nbenchmarks: {d: {source: demo}}")
    with pytest.raises(SuiteError, match="has no collection; expected `collection:"):
        suite_of_collection(suite)


@pytest.mark.parametrize(
    ("extra", "wrong"),
    [
        (", longest_ratio: 0.5", "longest_ratio: 0.5; expected a number from 1"),
        (", most_similar: 0", "most_similar: 0.0; expected above 0"),
        (", instructions: 0", "instructions: 0; expected a whole number from 1"),
        (", image: swapped", "image: swapped; expected true or absent"),
        (", kind: domain", "unknown key 'kind'"),
        (", seed_rubrics: absent.yaml", "absent.yaml: cannot be read as rubrics"),
    ],
)
def test_wrong_settings_name_the_key(tmp_path: Path, extra: str, wrong: str) -> None:
    with pytest.raises(SuiteError) as error:
        read_collection(tmp_path, extra)
    assert wrong in str(error.value)


@pytest.mark.usefixtures("bare_reports")
def test_the_page_has_a_chapter_where_something_was_collected(lake: Lake, tmp_path: Path) -> None:
    """Its tables show what the views hold; the figures stand under the collection's own name."""
    text = "name: tried\nbenchmarks:\n  scenes: {source: demo, scenes: 6}"
    suite = parse_suite(tmp_path / "s.yaml", f"{text}\nreport: {{resamples: 10}}\n")
    collected = read_collection(tmp_path)
    report_figures(
        lake, collected.name, {identity.alias: identity for identity in identify_all(collected)}
    )
    page = build_report(lake, suite).read_text(encoding="utf-8")
    chapter = page.partition('id="collection"')[2].partition("</section>")[0]
    for title in (section.title for section in COLLECTION_SECTIONS):
        assert title in chapter
    (row,) = query(lake, "select n from rpt_collected_sizes where component like 'responses%'")
    assert f">{row['n']}<" in chapter
    other = make_lake(tmp_path)
    ingest_benchmark(other, suite.benchmarks["scenes"], other.root / "images", None)
    assert 'id="collection"' not in build_report(other, suite).read_text(encoding="utf-8")
