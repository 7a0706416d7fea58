"""Rows that keep their contracts, for tests that break or count one thing at a time."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.sources.registry import BenchmarkSettings
from judgelake.tasks.sources.vqa import VqaSettings

Row = dict[str, object]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIGEST = "d" * 16
_ORIGIN: Row = {
    "benchmark": "bench",
    "ingest_id": "i1",
    "source_file": "file.json",
    "locator": "record 0",
}
_CASE: Row = {
    "judge_id": "0" * 16,
    "benchmark": "bench",
    "item_id": "1",
    "content_digest": DIGEST,
    "context_digest": "",
    "criterion": "correctness",
    "sample": 0,
    "run_id": "r1",
}
GOOD: Mapping[str, Row] = {
    "items": {
        **_ORIGIN,
        "item_id": "1",
        "task": "vqa",
        "prompt": "What is it?",
        "references": ["cat", "cat", "kitten"],
        "images": [{"uri": "a.jpg", "sha256": None}],
        "regions": [],
        "category": None,
        "split": "val",
        "cluster": "a.jpg",
    },
    "answers": {
        **_ORIGIN,
        "item_id": "1",
        "answer_id": "m/short/0",
        "model": "m",
        "style": "short",
        "sample": 0,
        "text": "cat",
        "content_digest": DIGEST,
        "n_repeats": 1,
    },
    "human_ratings": {
        **_ORIGIN,
        "item_id": "1",
        "answer_id": "m/short/0",
        "criterion": "correctness",
        "annotator": "ann",
        "rating": 3.0,
        "scale_low": 1.0,
        "scale_high": 5.0,
    },
    "ingests": {
        "ingest_id": "i1",
        "benchmark": "bench",
        "source": "vqa",
        "source_digest": "s",
        "item_limit": None,
        "n_items": 1,
        "n_answers": 1,
        "n_quarantined": 0,
        "ingested_at": NOON,
    },
    "cases": {**_CASE, "planned_at": NOON},
    "verdicts": {
        **_CASE,
        "reading": "r",
        "status": "ok",
        "rating": 3.0,
        "score_0_1": 1.0,
        "probabilities": [],
        "captured_mass": None,
        "rationale": None,
        "reason": None,
        "reply_digests": ["d" * 64],
        "judged_at": NOON,
    },
}


def make_frame(table: str, *changes: Mapping[str, object]) -> pl.DataFrame:
    """One row of `table` for each of `changes`: the good row with these cells changed."""
    return pl.DataFrame(
        [{**GOOD[table], **change} for change in changes], schema=TABLES[table].polars_schema
    )


def write_json(file: Path, content: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return file


def write_benchmark(
    folder: Path, items: Mapping[str, list[str]], answers: Mapping[str, Mapping[str, object]]
) -> BenchmarkSettings:
    """A benchmark in the combined form: question id -> references, model -> question id ->
    answer.
    """
    records = [
        {"question_id": key, "question": f"Question {key}?", "answer": references}
        for key, references in items.items()
    ]
    references = write_json(folder / "references.json", records)
    for model, given in answers.items():
        write_json(
            folder / "results" / f"{model}.json",
            [{"question_id": key, "answer": text} for key, text in given.items()],
        )
    return BenchmarkSettings(
        "bench", "vqa", VqaSettings(references, folder / "results" / "{model}.json")
    )
