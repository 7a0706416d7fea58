"""From a benchmark's source to the lake: read, validate, quarantine, write, make current. Formats
are `tasks.sources`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import NamedTuple

import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import content_digest, digest_json
from judgelake.tasks.errors import SourceError
from judgelake.tasks.lake.images import ImageLimits, check_images, stamp_images
from judgelake.tasks.lake.lake import Lake, append_records, append_rows, retire
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.lake.validation import (
    QUARANTINE,
    collapse_repeats,
    quarantine,
    quarantine_conflicts,
    validate_rows,
)
from judgelake.tasks.sources.frames import SOURCE_TABLES, SourceFrames
from judgelake.tasks.sources.registry import BenchmarkSettings, read_source, source_digest
from judgelake.tasks.sources.reserved_names import split_reserved
from judgelake.tasks.sources.sampling import Sample, draw_sample, find_drawn, frame_drawn
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame

# answers whose references are Python texts at a time
_SLICE = 20_000
_INGESTED = (*SOURCE_TABLES, "quarantine")
_Reference = tuple[list[str], str, dict[str, str]]
_ITEM: _Reference = (["item_id"], "items", {})
_ANSWER: _Reference = (["item_id", "answer_id"], "answers", {})
_PAIR = tuple(
    (["item_id", side], "answers", {"answer_id": side}) for side in ("answer_a", "answer_b")
)
_REFERS: Mapping[str, tuple[_Reference, ...]] = {
    "answers": (_ITEM,),
    "human_ratings": (_ANSWER,),
    "human_preferences": _PAIR,
    "choice_sets": (_ITEM,),
    "feedback_preferences": (_ANSWER,),
    "recorded_verdicts": (_ANSWER,),
    "recorded_duels": _PAIR,
    "recorded_scores": (_ANSWER,),
    "failure_labels": (_ANSWER,),
    "item_labels": (_ITEM,),
    "item_rubrics": (_ITEM, (["rubric_id"], "rubrics", {})),
}
"""Table -> what its rows refer to: (key columns, table referred to, how that table's columns are
called here).
"""
_SEVERAL = "several people may have judged it"
_AGAIN = "the judge may have been asked again"
_CAUSES: Mapping[str, tuple[str, str]] = {
    "items": ("the id may name several questions", "give each its own `item_id`"),
    "answers": ("the model may have answered again", "give each its `sample` or `answer_id`"),
    "human_ratings": (_SEVERAL, "give each an `annotator`"),
    "human_preferences": (_SEVERAL, "give each an `annotator`"),
    "choice_sets": (_SEVERAL, "give each an `annotator`, and each set of an item a `set`"),
    "feedback_preferences": (_SEVERAL, "give each an `annotator`"),
    "recorded_verdicts": (_AGAIN, "give each verdict its `sample`"),
    "recorded_duels": (
        "the judge may have seen both orders",
        "write for each which answer was `shown_first` (or its `sample`, where it was asked again)",
    ),
    "recorded_scores": ("they may be of several metrics", "give each its `metric`"),
    "failure_labels": (_SEVERAL, "give each a `labeller`"),
    "item_labels": (_SEVERAL, "give each a `labeller`"),
    "rubrics": ("the id may name several rubrics", "give each its own `rubric_id`"),
}
"""Table -> the likely reason why rows with the same key differ, and what to do about it."""


@dataclass(frozen=True)
class IngestSummary:
    """What one ingest did; `skipped` where the lake already held this very source. `notes`: lines
    on what the suite may not have meant.
    """

    benchmark: str
    n_items: int
    n_answers: int
    n_quarantined: int
    skipped: bool = False
    notes: tuple[str, ...] = ()


def find_current(
    lake: Lake | Snapshot,
    benchmark: BenchmarkSettings,
    limit: int | None,
    image_root: LakePath | None = None,
    image_limits: ImageLimits = ImageLimits(),  # noqa: B008  # frozen
) -> IngestSummary | None:
    """The lake's ingest of this source if it is still what an ingest (of `limit` items) would give,
    else None.
    """
    snapshot = lake.take_snapshot("ingests", "items") if isinstance(lake, Lake) else lake
    place = f"ingests/benchmark={benchmark.name}/"
    if not any(name.startswith(place) for name in snapshot.list_parts("ingests")["ingests"]):
        return None
    source = _digest_source(benchmark)
    connection = open_warehouse(snapshot, lazy=True)
    rows = select_frame(
        connection,
        "select n_items, n_answers, n_quarantined, item_limit, source_digest from stg_ingests "
        "where benchmark = $benchmark and source = $source",
        "current ingest",
        {"benchmark": benchmark.name, "source": benchmark.source},
    ).rows()
    if not rows or not (rows[0][3] is None or (limit is not None and limit <= rows[0][3])):
        return None
    text = "select distinct unnest(images).uri as uri from stg_items where benchmark = $benchmark"
    uris = select_frame(
        connection, text, "images of the current ingest", {"benchmark": benchmark.name}
    )["uri"].drop_nulls()
    images = stamp_images(image_root or lake.root / "images", uris, image_limits)
    if rows[0][4] != _digest_inputs(source, images) or (benchmark.strict and rows[0][2]):
        return None
    n_items, n_answers, n_quarantined = rows[0][:3]
    return IngestSummary(benchmark.name, n_items, n_answers, n_quarantined, skipped=True)


def _digest_source(benchmark: BenchmarkSettings) -> str:
    """A source's digest, with the sample that is taken of it."""
    source, sample = source_digest(benchmark.settings), benchmark.sample
    return source if sample is None else digest_json([source, sample.items, sample.seed])


def _digest_inputs(source: str, images: str) -> str:
    """A source's digest, with that of its images' state where it has local ones: an image that
    appears later is a new input.
    """
    return digest_json([source, images]) if images else source


def ingest_benchmark(
    lake: Lake,
    benchmark: BenchmarkSettings,
    image_root: LakePath,
    limit: int | None,
    image_limits: ImageLimits = ImageLimits(),  # noqa: B008  # frozen
) -> IngestSummary:
    """Read one source into the lake in place of its former ingest; a source that has not changed is
    left alone.
    """
    snapshot = lake.take_snapshot()
    current = find_current(snapshot, benchmark, limit, image_root, image_limits)
    if current is not None:
        return current
    # before the reading, so that a file changed meanwhile is read again
    source = _digest_source(benchmark)
    now = datetime.now(UTC)
    ingest_id = digest_json([benchmark.name, benchmark.source, source, limit, now.isoformat()])[:16]
    taken = benchmark.sample
    before = find_drawn(snapshot, benchmark.name, taken.seed) if taken else set[str]()
    checked, images, sample, notes = check_source(
        benchmark, image_root, limit, image_limits, ingest_id, before
    )
    digest = _digest_inputs(source, images)
    if benchmark.strict:
        _refuse_quarantined(benchmark.name, checked["quarantine"])
    replaced = _parts_of(snapshot, benchmark.name)  # nobody else ingests this benchmark meanwhile
    drawn = None
    if taken and sample:
        new = [item for item in sample.items if item not in before]
        append_rows(lake, "item_samples", frame_drawn(benchmark.name, taken.seed, new, now))
        drawn = {"n_source_items": sample.n_source, "sample_seed": taken.seed}
    written = [part for name in _INGESTED for part in append_rows(lake, name, checked[name])]
    if replaced:
        former = _list_former(snapshot, benchmark.name, checked["answers"], now)
        written += append_rows(lake, "replaced_answers", former)
    summary = IngestSummary(
        benchmark.name,
        checked["items"].height,
        checked["answers"].height,
        checked["quarantine"].height,
        notes=notes,
    )
    record = {
        "ingest_id": ingest_id,
        "benchmark": benchmark.name,
        "source": benchmark.source,
        "source_digest": digest,
    }
    counts = {
        field.name: getattr(summary, field.name)
        for field in fields(summary)
        if field.name.startswith("n_")
    }
    row = {**record, **counts, **(drawn or {}), "item_limit": limit, "ingested_at": now}
    written += append_records(lake, "ingests", [row])
    if replaced:
        retire(lake, replaced, written)  # a snapshot that lacks some of the new has all of the old
    return summary


class CheckedSource(NamedTuple):
    """Table name -> rows that keep the contract, and `quarantine`; `images` is the state of the
    local image files, `sample` what was drawn where the benchmark has a sample, `notes` lines on
    what the suite may not have meant.
    """

    tables: dict[str, pl.DataFrame]
    images: str
    sample: Sample | None = None
    notes: tuple[str, ...] = ()


def check_source(
    benchmark: BenchmarkSettings,
    image_root: LakePath,
    limit: int | None,
    image_limits: ImageLimits = ImageLimits(),  # noqa: B008  # frozen
    ingest_id: str = "preview",
    drawn: Collection[str] = (),
) -> CheckedSource:
    """Read and check a source as an ingest would, and write nothing. `drawn`: the items that are in
    the benchmark's sample already.
    """
    frames = read_source(benchmark.settings, image_root)
    checked = _check(frames, benchmark.name, ingest_id)
    sample = None
    if benchmark.sample is not None:
        sample = draw_sample(checked["items"]["item_id"], benchmark.sample, drawn)
        checked = _keep(checked, pl.DataFrame({"item_id": sample.items}, {"item_id": pl.String}))
    if limit is not None:
        checked = _keep(checked, checked["items"].sort("item_id").head(limit))
    uris = checked["items"]["images"].explode().struct.field("uri").drop_nulls().unique()
    stamp = stamp_images(image_root, uris, image_limits)
    images = check_images(checked["items"], image_root, image_limits)
    faults = _stamp(images.quarantined, benchmark.name, ingest_id)
    return CheckedSource(
        checked | {"items": images.items, "quarantine": pl.concat([checked["quarantine"], faults])},
        stamp,
        sample,
        frames.notes,
    )


def _refuse_quarantined(benchmark: str, quarantined: pl.DataFrame) -> None:
    """Raises SourceError that names the first row where there is one."""
    for row in quarantined.head(1).iter_rows(named=True):
        place = f"{row['source_file']}:{row['locator']}"
        raise SourceError(
            f"{place}: {benchmark} is strict and {quarantined.height:,} rows would be quarantined; "
            f"the first: {row['reason']} "
            f"(column {row['column_name']}, value {row['value']!r}); expected none, nothing "
            f"was written; {row['remedy']}"
        )


def _parts_of(snapshot: Snapshot, benchmark: str) -> list[LakePath]:
    """The part files that ingests of a benchmark have written and that count."""
    listed = snapshot.list_parts(*_INGESTED, "ingests")
    return [
        snapshot.root / name
        for table, names in listed.items()
        for name in names
        if name.startswith(f"{table}/benchmark={benchmark}/")
    ]


def _list_former(
    snapshot: Snapshot, benchmark: str, answers: pl.DataFrame, now: datetime
) -> pl.DataFrame:
    """Rows of `replaced_answers`: the answers of a benchmark whose content is another now."""
    former = select_frame(
        open_warehouse(snapshot, lazy=True),
        "select benchmark, item_id, answer_id, content_digest from stg_answers "
        "where benchmark = $benchmark",
        "stg_answers",
        {"benchmark": benchmark},
    )
    keys = ["item_id", "answer_id"]
    newer = answers.select(*keys, newer="content_digest")
    changed = former.join(newer, on=keys).filter(pl.col("content_digest") != pl.col("newer"))
    rows = changed.with_columns(replaced_at=pl.lit(now))
    schema = TABLES["replaced_answers"].polars_schema
    return rows.select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def _check(frames: SourceFrames, benchmark: str, ingest_id: str) -> dict[str, pl.DataFrame]:
    """Table name -> rows: every row either keeps its contract or is in `quarantine`, with its
    place.
    """
    bad = [_rejected(frames)]
    good: dict[str, pl.DataFrame] = {}
    for name, given in frames.tables():
        frame, refused = split_reserved(name, given)
        bad.append(refused)
        for keys, table, renames in _REFERS.get(name, ()):
            frame = _known(name, frame, good[table].rename(renames), keys, bad)
        if name == "choice_sets":
            frame = _known_sets(frame, good["answers"], bad)
        frame = _stamp(frame, benchmark, ingest_id)
        if name == "answers":
            frame = _digest_answers(frame, good["items"])
        good[name] = _checked_table(name, frame, bad)
    rejected = pl.concat(bad).with_columns(benchmark=pl.lit(benchmark), ingest_id=pl.lit(ingest_id))
    return {**good, "quarantine": rejected}


def _keep(checked: dict[str, pl.DataFrame], items: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Only these items, and the rows about them; quarantined rows stay."""
    return {
        name: frame.join(items, on="item_id", how="semi") if "item_id" in frame.columns else frame
        for name, frame in checked.items()
    }


def _stamp(frame: pl.DataFrame, benchmark: str, ingest_id: str) -> pl.DataFrame:
    return frame.with_columns(benchmark=pl.lit(benchmark), ingest_id=pl.lit(ingest_id))


def _checked_table(name: str, frame: pl.DataFrame, bad: list[pl.DataFrame]) -> pl.DataFrame:
    """Rows that keep the contract, repeats collapsed; the others are added to `bad`."""
    collapsed = collapse_repeats(name, frame)
    if collapsed.conflicting.height:
        cause, remedy = _CAUSES.get(name, ("the name may stand for several", "give each its own"))
        what_to_do = f"{cause}: {remedy}, or keep one of the rows"
        bad.append(quarantine_conflicts(name, collapsed.conflicting, what_to_do))
    validated = validate_rows(name, collapsed.unique.select(TABLES[name].polars_schema.keys()))
    bad.append(validated.quarantined)
    return validated.good


def _known(
    name: str, frame: pl.DataFrame, known: pl.DataFrame, keys: list[str], bad: list[pl.DataFrame]
) -> pl.DataFrame:
    """Rows whose referred row exists; the others are added to `bad`."""
    unknown = frame.join(known, on=keys, how="anti")
    what = {"item_id": "item", "rubric_id": "rubric"}.get(keys[-1], "answer")
    remedy = f"add the {what} to its file, or remove this row"
    bad.append(
        quarantine(
            unknown,
            name,
            keys[-1],
            keys[-1],
            f"the {what} it refers to is not there or did not pass",
            remedy,
        )
    )
    return frame.join(known, on=keys, how="semi")


def _known_sets(sets: pl.DataFrame, answers: pl.DataFrame, bad: list[pl.DataFrame]) -> pl.DataFrame:
    """Choice sets of which every answer is there; the others are added to `bad`, with the first one
    that is not.
    """
    numbered = sets.with_row_index("set")
    shown = numbered.select("set", "item_id", answer_id="answers").explode("answer_id").drop_nulls()
    absent = shown.join(answers, on=["item_id", "answer_id"], how="anti").unique(
        "set", keep="first", maintain_order=True
    )
    unknown = numbered.join(
        absent.select("set", absent="answer_id"), on="set", maintain_order="left"
    )
    reason = "an answer of the set is not there or did not pass"
    bad.append(
        quarantine(
            unknown,
            "choice_sets",
            "answers",
            "absent",
            reason,
            "add the answer to its file, or correct its id",
        )
    )
    return numbered.join(absent, on="set", how="anti", maintain_order="left").drop("set")


def _digest_answers(answers: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    seen = answers.join(
        items.select("item_id", "prompt", "references"),
        on="item_id",
        how="left",
        maintain_order="left",
    )
    digests: list[str] = []
    for part in seen.iter_slices(
        _SLICE
    ):  # the references of all answers as Python texts would take a gigabyte a million answers
        digests += map(
            content_digest, part["prompt"], part["references"].to_list(), part["text"].fill_null("")
        )
    return answers.with_columns(content_digest=pl.Series(digests, dtype=pl.String))


def _rejected(frames: SourceFrames) -> pl.DataFrame:
    rows = [[getattr(row, column) for column in QUARANTINE] for row in frames.rejected]
    return pl.DataFrame(rows, schema=dict.fromkeys(QUARANTINE, pl.String), orient="row")
