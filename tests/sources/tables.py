"""Ingests small files through source `table` as a suite would; what is expected of them stands in
the tests.
"""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.sources.frames import SourceFrames
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.sources.registry import read_source
from judgelake.tasks.suite.suite import Suite, read_suite
from tests.lakes import query

VQA = {
    "item_id": "id",
    "prompt": "question",
    "references": "answers",
    "answer": "answer",
    "model": "model",
}


def write_suite(folder: Path, mapping: Mapping[str, object], **more: object) -> Suite:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "suite.yaml"
    benchmark = {"source": "table", **mapping}
    file.write_text(
        yaml.safe_dump({"name": "t", "benchmarks": {"b": benchmark}, **more}, sort_keys=False),
        encoding="utf-8",
    )
    return read_suite(file)


def read(folder: Path, **mapping: object) -> SourceFrames:
    return read_source(write_suite(folder, mapping).benchmarks["b"].settings, folder)


def ingest(suite: Suite, folder: Path) -> Lake:
    lake = open_lake(folder / "lake", create=True)
    for benchmark in suite.benchmarks.values():
        ingest_benchmark(lake, benchmark, folder / "images", None)
    return lake


def write_lines(file: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """JSON lines, compressed as the suffix says."""
    return write_bytes(file, "".join(json.dumps(record) + "\n" for record in records).encode())


def write_bytes(file: Path, data: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".gz":
        data = gzip.compress(data)
    elif file.suffix == ".zst":
        data = pa.compress(data, codec="zstd", asbytes=True)
    file.write_bytes(data)
    return file


def list_rejected(frames: SourceFrames) -> list[tuple[str, str | None]]:
    return [(row.locator, row.column_name) for row in frames.rejected]


def rows(lake: Lake, table: str) -> list[dict[str, Any]]:
    """All rows of a table without their places and ingest, in an order of their own."""
    found = query(lake, f"select * exclude (source_file, locator) from {table}")
    return sorted(found, key=str)
