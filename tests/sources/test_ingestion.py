"""Ingests: what the views show after each, whether a crash came between or not."""

from pathlib import Path

import polars as pl
import pytest

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import content_digest
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.sources import ingestion
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.ingestion import IngestSummary, find_current, ingest_benchmark
from judgelake.tasks.sources.registry import BenchmarkSettings
from judgelake.tasks.sources.vqa import VqaSettings
from tests.lakes import query
from tests.rows import GOOD, Row, write_benchmark, write_json

ITEMS_OF = {key: ["yes", "no"] for key in ("9", "10", "2", "1")}
ANSWERS_OF = {"m": dict.fromkeys(ITEMS_OF, "yes"), "n": dict.fromkeys(ITEMS_OF, "no")}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path / "lake", create=True)


@pytest.fixture
def benchmark(tmp_path: Path) -> BenchmarkSettings:
    """Four questions, answered by the models m and n."""
    return write_benchmark(tmp_path, ITEMS_OF, ANSWERS_OF)


def ingest(lake: Lake, benchmark: BenchmarkSettings, limit: int | None = None) -> IngestSummary:
    return ingest_benchmark(lake, benchmark, lake.root / "images", limit)


def texts(lake: Lake, model: str = "m") -> dict[str, str]:
    rows = query(
        lake, f"select item_id, text from answers where model = '{model}' order by item_id"
    )
    return {row["item_id"]: row["text"] for row in rows}


def list_parts(lake: Lake) -> set[Path]:
    return {part for parts in lake.find_parts(*TABLES).values() for part in parts}


def test_first_ingest_counts_and_shows_everything(lake: Lake, benchmark: BenchmarkSettings) -> None:
    assert find_current(lake, benchmark, None) is None
    assert ingest(lake, benchmark) == IngestSummary(
        "bench", n_items=4, n_answers=8, n_quarantined=0
    )
    counts = (
        "select (select count(*) from items) as items, (select count(*) from answers) as answers"
    )
    assert query(lake, counts) == [{"items": 4, "answers": 8}]
    digest = query(
        lake, "select distinct content_digest as d from answers where item_id = '9' and model = 'm'"
    )
    assert digest == [{"d": content_digest("Question 9?", ["yes", "no"], "yes")}]


def test_second_ingest_is_skipped_and_writes_nothing(
    lake: Lake, benchmark: BenchmarkSettings
) -> None:
    first = ingest(lake, benchmark)
    before = {part: part.stat().st_mtime_ns for part in list_parts(lake)}
    again = ingest(lake, benchmark)
    assert (again.skipped, again.n_items, again.n_answers) == (True, first.n_items, first.n_answers)
    assert {part: part.stat().st_mtime_ns for part in list_parts(lake)} == before
    assert find_current(lake, benchmark, None) == again


def test_changed_answer_is_read_again_and_the_former_rows_are_gone(
    lake: Lake, benchmark: BenchmarkSettings, tmp_path: Path
) -> None:
    ingest(lake, benchmark)
    before = list_parts(lake)
    changed = {"m": {**ANSWERS_OF["m"], "10": "maybe"}, "n": ANSWERS_OF["n"]}
    write_benchmark(tmp_path, ITEMS_OF, changed)
    assert find_current(lake, benchmark, None) is None
    assert not ingest(lake, benchmark).skipped
    assert texts(lake) == {"1": "yes", "10": "maybe", "2": "yes", "9": "yes"}
    assert query(lake, "select count(*) as n from raw_answers") == [{"n": 8}]
    assert not before & list_parts(lake)


def test_a_changed_answer_leaves_the_digest_that_it_had(
    lake: Lake, benchmark: BenchmarkSettings, tmp_path: Path
) -> None:
    ingest(lake, benchmark)
    (former,) = query(
        lake,
        "select item_id, answer_id, content_digest from answers "
        "where model = 'm' and item_id = '10'",
    )
    changed = {"m": {**ANSWERS_OF["m"], "10": "maybe"}, "n": ANSWERS_OF["n"]}
    write_benchmark(tmp_path, ITEMS_OF, changed)
    ingest(lake, benchmark)
    kept = query(lake, "select item_id, answer_id, content_digest from stg_replaced_answers")
    assert kept == [former]


def test_answer_taken_away_and_model_taken_away(
    lake: Lake, benchmark: BenchmarkSettings, tmp_path: Path
) -> None:
    ingest(lake, benchmark)
    (tmp_path / "results" / "n.json").unlink()
    write_benchmark(tmp_path, ITEMS_OF, {"m": {"9": "yes"}})
    assert ingest(lake, benchmark).n_answers == 1
    assert (texts(lake), texts(lake, "n")) == ({"9": "yes"}, {})


def test_model_renamed_is_read_again(
    lake: Lake, benchmark: BenchmarkSettings, tmp_path: Path
) -> None:
    folders = VqaSettings(
        tmp_path / "references.json", tmp_path / "by_model" / "{model}" / "answers.json"
    )
    renamed = BenchmarkSettings("bench", "vqa", folders)
    write_json(
        tmp_path / "by_model" / "m" / "answers.json", [{"question_id": "1", "answer": "yes"}]
    )
    ingest(lake, renamed)
    (tmp_path / "by_model" / "m").rename(tmp_path / "by_model" / "other")
    assert not ingest(lake, renamed).skipped
    assert texts(lake, "other") == {"1": "yes"}


def test_other_benchmarks_are_left_alone(lake: Lake, benchmark: BenchmarkSettings) -> None:
    ingest(lake, BenchmarkSettings("other", benchmark.source, benchmark.settings))
    ingest(lake, benchmark)
    counts = query(
        lake, "select benchmark, count(*) as n from answers group by benchmark order by benchmark"
    )
    assert counts == [{"benchmark": "bench", "n": 8}, {"benchmark": "other", "n": 8}]


@pytest.mark.parametrize(
    ("first", "second", "skipped"),
    [
        (None, None, True),
        (None, 3, True),
        (3, 3, True),
        (3, 2, True),
        (2, 3, False),
        (2, None, False),
        (100, None, False),
    ],
)
def test_limits(
    lake: Lake, benchmark: BenchmarkSettings, first: int | None, second: int | None, skipped: bool
) -> None:
    ingest(lake, benchmark, first)
    assert ingest(lake, benchmark, second).skipped is skipped
    held = min(4, max(4 if limit is None else limit for limit in (first, second)))
    assert query(lake, "select count(*) as n from items") == [{"n": held}]


def test_limit_takes_the_first_items_by_key(lake: Lake, benchmark: BenchmarkSettings) -> None:
    # keys are text: '1' < '10' < '2' < '9'
    assert ingest(lake, benchmark, 2) == IngestSummary(
        "bench", n_items=2, n_answers=4, n_quarantined=0
    )
    assert query(lake, "select item_id from items order by item_id") == [
        {"item_id": "1"},
        {"item_id": "10"},
    ]
    assert texts(lake) == {"1": "yes", "10": "yes"}
    assert query(lake, "select item_limit from ingests") == [{"item_limit": 2}]


def test_crash_before_the_ingest_is_recorded_leaves_the_former_one(
    lake: Lake, benchmark: BenchmarkSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(lake, benchmark)
    write_benchmark(tmp_path, ITEMS_OF, {"m": dict.fromkeys(ITEMS_OF, "changed")})
    with monkeypatch.context() as broken:
        broken.setattr(ingestion, "append_records", die)
        with pytest.raises(Killed):
            ingest(lake, benchmark)
    assert set(texts(lake).values()) == {"yes"}
    assert query(lake, "select count(*) as n from raw_answers") == [{"n": 8 + 8}]
    ingest(lake, benchmark)
    assert set(texts(lake).values()) == {"changed"}
    assert query(lake, "select count(*) as n from raw_answers") == [{"n": 8}]


def test_crash_before_the_former_parts_are_removed_shows_the_new_ones(
    lake: Lake, benchmark: BenchmarkSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(lake, benchmark)
    write_benchmark(tmp_path, ITEMS_OF, {"m": dict.fromkeys(ITEMS_OF, "changed")})
    with monkeypatch.context() as broken:
        broken.setattr(ingestion, "retire", die)
        with pytest.raises(Killed):
            ingest(lake, benchmark)
    assert set(texts(lake).values()) == {"changed"}
    assert ingest(lake, benchmark).skipped
    assert query(lake, "select count(*) as n from items") == [{"n": 4}]


def test_ratings_follow_their_answers(
    lake: Lake, benchmark: BenchmarkSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = SourceFrames(
        items=frame("items", frame_schema("items"), {"item_id": "1"}, {"item_id": "2"}),
        answers=frame(
            "answers",
            frame_schema("answers"),
            {"item_id": "1"},
            {"item_id": "2", "style": "medium", "locator": "a2"},
        ),
        human_ratings=frame(
            "human_ratings",
            frame_schema("human_ratings"),
            {"item_id": "1", "rating": 2.0},
            {"item_id": "2", "locator": "its answer did not pass"},
            {"item_id": "1", "annotator": "b", "rating": 6.0, "locator": "above the scale"},
        ),
    )
    monkeypatch.setattr(ingestion, "read_source", lambda *_: frames)
    assert ingest(lake, benchmark) == IngestSummary(
        "bench", n_items=2, n_answers=1, n_quarantined=4
    )  # one: the image a.jpg is missing
    assert query(lake, "select item_id, score_0_1 from stg_human_ratings") == [
        {"item_id": "1", "score_0_1": (2 - 1) / (5 - 1)}
    ]
    reported = query(
        lake, "select table_name, locator, column_name, value from quarantine order by locator"
    )
    assert [tuple(row.values()) for row in reported] == [
        ("answers", "a2", "style", "medium"),
        ("human_ratings", "above the scale", "rating", "6.0"),
        ("human_ratings", "its answer did not pass", "answer_id", "m/short/0"),
        ("images", "record 0", "images", "a.jpg"),
    ]


def test_content_digest_is_of_a_multiset() -> None:
    digest = content_digest("q", ["a", "b", "a"], "x")
    assert digest == content_digest("q", ["a", "a", "b"], "x")
    others = [
        ("q", ["a", "b"], "x"),
        ("q", ["a", "b", "b"], "x"),
        ("q", ["a", "a", "b"], "y"),
        ("r", ["a", "a", "b"], "x"),
    ]
    assert digest not in [content_digest(*other) for other in others]


class Killed(BaseException):
    """What `kill -9` is to a program."""


def die(*_arguments: object, **_options: object) -> None:
    raise Killed


def frame(table: str, schema: dict[str, pl.DataType], *changes: Row) -> pl.DataFrame:
    rows = [
        {key: value for key, value in {**GOOD[table], **change}.items() if key in schema}
        for change in changes
    ]
    return pl.DataFrame(rows, schema=schema)
