"""From a benchmark's source to the lake: read, validate, quarantine, write, make current. Formats are `tasks.sources`."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from schemas.tables import TABLES
from tasks.digests import content_digest, digest_json
from tasks.lake import Lake, append_records, append_rows, remove_parts
from tasks.reports.warehouse import open_warehouse, run_sql
from tasks.sources.frames import SourceFrames
from tasks.sources.registry import read_source, source_digest
from tasks.suite import BenchmarkSettings
from tasks.validation import QUARANTINE, collapse_repeats, quarantine, validate_rows

_INGESTED = (*(part.name for part in fields(SourceFrames) if part.name != "rejected"), "quarantine")
_Reference = tuple[list[str], str, dict[str, str]]
_ITEM: _Reference = (["item_id"], "items", {})
_ANSWER: _Reference = (["item_id", "answer_id"], "answers", {})
_PAIR = tuple((["item_id", side], "answers", {"answer_id": side}) for side in ("answer_a", "answer_b"))
_REFERS: Mapping[str, tuple[_Reference, ...]] = {
    "answers": (_ITEM,),
    "human_ratings": (_ANSWER,),
    "human_preferences": _PAIR,
    "recorded_verdicts": (_ANSWER,),
    "recorded_duels": _PAIR,
    "recorded_scores": (_ANSWER,),
    "item_rubrics": (_ITEM, (["rubric_id"], "rubrics", {})),
}
"""Table -> what its rows refer to: (key columns, table referred to, how that table's columns are called here)."""


@dataclass(frozen=True)
class IngestSummary:
    """What one ingest did; `skipped` where the lake already held this very source."""

    benchmark: str
    n_items: int
    n_answers: int
    n_quarantined: int
    skipped: bool = False


def find_current(lake: Lake, benchmark: BenchmarkSettings, limit: int | None) -> IngestSummary | None:
    """The lake's ingest of this source if it is still what an ingest (of `limit` items) would give, else None."""
    row = run_sql(
        open_warehouse(lake),
        "select n_items, n_answers, n_quarantined, item_limit from stg_ingests "
        "where benchmark = $benchmark and source = $source and source_digest = $digest",
        "current ingest",
        {"benchmark": benchmark.name, "source": benchmark.source, "digest": source_digest(benchmark.settings)},
    ).fetchone()
    if row is None or not (row[3] is None or (limit is not None and limit <= row[3])):
        return None
    return IngestSummary(benchmark.name, row[0], row[1], row[2], skipped=True)


def ingest_benchmark(lake: Lake, benchmark: BenchmarkSettings, image_root: Path, limit: int | None) -> IngestSummary:
    """Read one source into the lake in place of its former ingest; a source that has not changed is left alone."""
    current = find_current(lake, benchmark, limit)
    if current is not None:
        return current
    digest = source_digest(benchmark.settings)
    now = datetime.now(UTC)
    ingest_id = digest_json([benchmark.name, benchmark.source, digest, limit, now.isoformat()])[:16]
    checked = _check(read_source(benchmark.settings, image_root), benchmark.name, ingest_id, limit)
    replaced = [file for name in (*_INGESTED, "ingests") for file in _files_of(lake, name, benchmark.name)]
    for name in _INGESTED:
        append_rows(lake, name, checked[name])
    summary = IngestSummary(benchmark.name, checked["items"].height, checked["answers"].height, checked["quarantine"].height)
    record = {"ingest_id": ingest_id, "benchmark": benchmark.name, "source": benchmark.source, "source_digest": digest}
    counts = {field.name: getattr(summary, field.name) for field in fields(summary) if field.name.startswith("n_")}
    append_records(lake, "ingests", [{**record, **counts, "item_limit": limit, "ingested_at": now}])
    remove_parts(replaced)
    return summary


def _files_of(lake: Lake, name: str, benchmark: str) -> list[Path]:
    return sorted((lake.table_folder(name) / f"benchmark={benchmark}").glob("*.parquet"))


def _check(frames: SourceFrames, benchmark: str, ingest_id: str, limit: int | None) -> dict[str, pl.DataFrame]:
    """Table name -> rows: every row either keeps its contract or is in `quarantine`, with its place."""
    bad = [_rejected(frames)]
    good: dict[str, pl.DataFrame] = {}
    for name, frame in frames.tables():
        for keys, table, renames in _REFERS.get(name, ()):
            frame = _known(name, frame, good[table].rename(renames), keys, bad)
        frame = _stamp(frame, benchmark, ingest_id)
        if name == "answers":
            frame = _digest_answers(frame, good["items"])
        good[name] = _checked_table(name, frame, bad)
    told = pl.concat(bad).with_columns(benchmark=pl.lit(benchmark), ingest_id=pl.lit(ingest_id))
    return {**(good if limit is None else _cut(good, limit)), "quarantine": told}


def _cut(good: dict[str, pl.DataFrame], limit: int) -> dict[str, pl.DataFrame]:
    """Only the first `limit` items by key, and the rows about them."""
    items = good["items"].sort("item_id").head(limit)
    return {
        name: frame.join(items, on="item_id", how="semi") if "item_id" in frame.columns else frame for name, frame in good.items()
    }


def _stamp(frame: pl.DataFrame, benchmark: str, ingest_id: str) -> pl.DataFrame:
    return frame.with_columns(benchmark=pl.lit(benchmark), ingest_id=pl.lit(ingest_id))


def _checked_table(name: str, frame: pl.DataFrame, bad: list[pl.DataFrame]) -> pl.DataFrame:
    """Rows that keep the contract, repeats collapsed; the others are added to `bad`."""
    collapsed = collapse_repeats(name, frame)
    if collapsed.conflicting.height:
        remedy = "keep one of them, or give them different ids"
        bad.append(quarantine(collapsed.conflicting, name, None, None, "rows with the same key differ", remedy))
    validated = validate_rows(name, collapsed.unique.select(TABLES[name].polars_schema.keys()))
    bad.append(validated.quarantined)
    return validated.good


def _known(name: str, frame: pl.DataFrame, known: pl.DataFrame, keys: list[str], bad: list[pl.DataFrame]) -> pl.DataFrame:
    """Rows that refer to something that is there; the others are added to `bad`."""
    unknown = frame.join(known, on=keys, how="anti")
    what = {"item_id": "item", "rubric_id": "rubric"}.get(keys[-1], "answer")
    remedy = f"add the {what} to its file, or remove this row"
    bad.append(quarantine(unknown, name, keys[-1], keys[-1], f"the {what} it refers to is not there or did not pass", remedy))
    return frame.join(known, on=keys, how="semi")


def _digest_answers(answers: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    seen = answers.join(items.select("item_id", "prompt", "references"), on="item_id", how="left", maintain_order="left")
    rows = zip(seen["prompt"], seen["references"].to_list(), seen["text"], strict=True)
    digests = [content_digest(prompt, references, text or "") for prompt, references, text in rows]
    return answers.with_columns(content_digest=pl.Series(digests, dtype=pl.String))


def _rejected(frames: SourceFrames) -> pl.DataFrame:
    rows = [[getattr(row, column) for column in QUARANTINE] for row in frames.rejected]
    return pl.DataFrame(rows, schema=dict.fromkeys(QUARANTINE, pl.String), orient="row")
