"""Small lakes for tests: a few given rows written the way the product writes them. What is expected
of them stands in the tests.
"""

import atexit
import functools
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.backends.endpoint import EndpointSettings
from judgelake.tasks.backends.openai.settings import StandinSettings
from judgelake.tasks.backends.registry import BACKENDS
from judgelake.tasks.digests import content_digest
from judgelake.tasks.judging.lave import LaveOptions
from judgelake.tasks.lake import lake as storing
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.lake.leases import HERE, Lease
from judgelake.tasks.lake.parquet import read_frame
from judgelake.tasks.lake.snapshot import list_sidecars
from judgelake.tasks.lake.storage import LakePath, write_whole
from judgelake.tasks.metrics.settings import MetricSettings, name_metric
from judgelake.tasks.sources.registry import BenchmarkSettings, DemoSettings
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import ReportSettings, Suite
from judgelake.tasks.warehouse.views import list_needed, view_order
from judgelake.tasks.warehouse.warehouse import FOLDER, open_warehouse, run_sql

if TYPE_CHECKING:
    from judgelake.tasks.reports.correlations import Agreements

Row = dict[str, Any]
STANDIN = StandinSettings()


def at(minute: float) -> datetime:
    return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=minute)


def make_lake(folder: Path) -> Lake:
    return open_lake(folder / "lake", create=True)


def hold_since(lake: Lake, since: float, *, beaten_at: float | None = None) -> None:
    """A lease of this process that was taken then and gave a sign of life now, or at `beaten_at`."""
    around, seen = HERE, time.time() if beaten_at is None else beaten_at
    born = around.find_birth(around.pid) or 0
    place = (around.host, around.place, around.pid, born)
    lease = Lease("report-s", 1, "run r of s", *place, "judgelake run", since, 1, seen)
    write_whole(
        lake.root / "_leases" / lease.name / f"{lease.epoch:012d}.json",
        json.dumps(asdict(lease)).encode(),
    )


def item(
    item_id: str, prompt: str = "What is it?", references: Sequence[str] = ("cat",), **more: object
) -> Row:
    """An item; `image` is its picture's URI and then its cluster too."""
    image = more.pop("image", None)
    images = [{"uri": image, "sha256": "0" * 64}] if image else []
    row = {
        "item_id": item_id,
        "task": "vqa",
        "prompt": prompt,
        "references": list(references),
        "images": images,
        "regions": [],
    }
    return {**row, "category": None, "split": None, "cluster": image or item_id, **more}


def answer(item_id: str, text: str, model: str | None = "m1", **more: object) -> Row:
    row: Row = {
        "item_id": item_id,
        "answer_id": model or "row-1",
        "model": model,
        "style": "short",
        "sample": 0,
        "text": text,
    }
    return {**row, "n_repeats": 1, **more}


def rating(
    item_id: str, value: float, annotator: str = "p1", answer_id: str = "m1", **more: object
) -> Row:
    row: Row = {
        "item_id": item_id,
        "answer_id": answer_id,
        "criterion": "correctness",
        "annotator": annotator,
        "rating": value,
    }
    return {**row, "scale_low": 0.0, "scale_high": 1.0, **more}


_GIVEN: dict[str, list[pl.DataFrame]] = {}
"""Table -> rows that `append_records` wrote and nothing has checked yet."""


def append_records(lake: Lake, name: str, records: Iterable[Row]) -> list[LakePath]:
    """The product's `append_records` but for the check of the contract, which takes longer than
    most tests of a few rows: `check_given` does it for all rows of a test file.
    """
    table = TABLES[name]
    frame = pl.DataFrame(list(records), schema=table.polars_schema)
    _GIVEN.setdefault(name, []).append(frame)
    retired = frozenset(file for one in list_sidecars(lake.root) for file in one.files)
    return [
        storing._write_part(lake, storing._part_folder(table, values), table, part, retired)
        for values, part in (storing._split(table, frame) if len(frame) else ())
    ]


def check_given() -> None:
    """Raises where rows that `append_records` wrote break the contract of their table."""
    given = dict(_GIVEN)
    _GIVEN.clear()
    for name, frames in given.items():
        TABLES[name].model.validate(pl.concat(frames), lazy=True)


def caption(image: str, text: str, captioner: str = "people") -> Row:
    return {"image_uri": image, "captioner": captioner, "text": text}


def ingest(
    lake: Lake,
    items: Sequence[Row],
    answers: Sequence[Row] = (),
    ratings: Sequence[Row] = (),
    captions: Sequence[Row] = (),
    *,
    benchmark: str = "b",
    minute: float = 0,
    **others: Sequence[Row],
) -> None:
    """Make these rows the benchmark's current ones; a later ingest (by `minute`) hides them.
    `others` are named as their tables.
    """
    own = {
        "benchmark": benchmark,
        "ingest_id": f"{benchmark}-{minute}",
        "source_file": "given",
        "locator": "row",
    }
    by_id = {row["item_id"]: row for row in items}
    digested = [
        {**row, "content_digest": digest_of(by_id[row["item_id"]], row["text"])} for row in answers
    ]
    tables = {
        "items": items,
        "answers": digested,
        "human_ratings": ratings,
        "captions": captions,
        **others,
    }
    for name, rows in tables.items():
        append_records(lake, name, [{**row, **own} for row in rows])
    counts = {
        "n_items": len(items),
        "n_answers": len(answers),
        "n_quarantined": 0,
        "item_limit": None,
    }
    record = {
        "ingest_id": own["ingest_id"],
        "benchmark": benchmark,
        "source": "given",
        "source_digest": "0",
    }
    append_records(lake, "ingests", [{**record, **counts, "ingested_at": at(minute)}])


def digest_of(of_item: Row, text: str) -> str:
    return content_digest(of_item["prompt"], of_item["references"], text)


def judge_row(alias: str, judge_id: str, **more: object) -> Row:
    row: Row = {
        "judge_id": judge_id,
        "reading": "r1",
        "kind": "judge",
        "alias": alias,
        "suite": "s",
        "tasks": ["vqa"],
    }
    row |= {
        "call_signature": f"call {judge_id}",
        "reading_signature": "read",
        "benchmarks": ["b"],
        "registered_at": at(1),
    }
    return {**row, **more}


def metric_row(alias: str, judge_id: str, **more: object) -> Row:
    return judge_row(alias, judge_id, kind="metric", reading="score", reading_signature="", **more)


def case_row(judge_id: str, item_id: str, digest: str, **more: object) -> Row:
    row: Row = {
        "judge_id": judge_id,
        "benchmark": "b",
        "item_id": item_id,
        "content_digest": digest,
        "context_digest": "",
    }
    row |= {"other_digest": "", "shown_first": "", "criterion": "correctness", "sample": 0}
    return {**row, "run_id": "run", "planned_at": at(2), **more}


def verdict_row(
    judge_id: str, item_id: str, digest: str, rating: int | None, minute: float = 3, **more: object
) -> Row:
    """A verdict on LAVE's scale: `ok` with a rating, else `unparsed` unless `status` says
    otherwise.
    """
    row = case_row(judge_id, item_id, digest)
    row = {
        name: value
        for name, value in row.items()
        if name not in ("planned_at", "other_digest", "shown_first")
    }
    row |= {
        "reading": "r1",
        "status": "unparsed" if rating is None else "ok",
        "rating": rating,
        "judged_at": at(minute),
    }
    row |= {
        "score_0_1": None if rating is None else (rating - 1) / 2,
        "probabilities": [],
        "captured_mass": None,
    }
    return {**row, "rationale": None, "reason": None, "reply_digests": [], **more}


def duel_row(
    judge_id: str,
    item_id: str,
    digest: str,
    other: str,
    shown_first: str,
    choice: str | None,
    **more: object,
) -> Row:
    """A verdict on a pair: `ok` with a choice, else `unparsed` unless `status` says otherwise."""
    row = case_row(judge_id, item_id, digest, other_digest=other, shown_first=shown_first)
    del row["planned_at"]
    row |= {
        "reading": "r1",
        "status": "ok" if choice else "unparsed",
        "choice": choice,
        "judged_at": at(3),
        "probabilities": [],
    }
    row |= {
        "preference_b": {"a": 0.0, "b": 1.0, "tie": 0.5}.get(choice or ""),
        "score_a": None,
        "score_b": None,
    }
    return {
        **row,
        "captured_mass": None,
        "rationale": None,
        "reason": None,
        "reply_digests": [],
        **more,
    }


def reply_row(judge_id: str, digest: str, minute: float = 3, **more: object) -> Row:
    """A reply of 20 tokens to a prompt of 100; `digest` is the request's first letters."""
    row: Row = {
        "judge_id": judge_id,
        "request_digest": digest.ljust(64, "0"),
        "draw": 0,
        "text": "So rating=3",
        "refusal": None,
    }
    row |= {
        "finish_reason": "stop",
        "top_logprobs": [],
        "requested_model": "gpt",
        "resolved_model": "gpt-1",
        "prompt_tokens": 100,
    }
    return {
        **row,
        "completion_tokens": 20,
        "latency_ms": 500.0,
        "run_id": "run",
        "replied_at": at(minute),
        **more,
    }


def preference(
    item_id: str,
    answer_a: str,
    answer_b: str,
    choice: str | None,
    annotator: str = "p1",
    **more: object,
) -> Row:
    row: Row = {
        "item_id": item_id,
        "answer_a": answer_a,
        "answer_b": answer_b,
        "criterion": "overall",
        "shown_first": None,
    }
    return {**row, "choice": choice, "annotator": annotator, "study": None, **more}


def score_row(
    judge_id: str, item_id: str, digest: str, score: float | None, minute: float = 3, **more: object
) -> Row:
    row: Row = {
        "judge_id": judge_id,
        "benchmark": "b",
        "item_id": item_id,
        "content_digest": digest,
        "score": score,
    }
    row |= {"context_digest": "", "statistics": None}
    return {**row, "reason": None, "run_id": "run", "scored_at": at(minute), **more}


def make_suite(
    *judges: JudgeSettings,
    benchmarks: Sequence[str] = ("b",),
    metrics: Sequence[str | MetricSettings] = (),
    name: str = "s",
    tried: bool = False,
    **more: Any,
) -> Suite:
    """A suite without a file; its benchmarks' rows are given by `ingest`, never read from a
    source. Unless `tried`, its judges go on whatever they reply, so that their cases are one shard.
    """
    if not tried:
        judges = tuple(
            replace(judge, endpoint=replace(judge.endpoint, on_unreadable="go on"))
            for judge in judges
        )
    sources = {one: BenchmarkSettings(one, "demo", DemoSettings()) for one in benchmarks}
    settings: Mapping[str, JudgeSettings] = {judge.alias: judge for judge in judges}
    more.setdefault("report", ReportSettings(resamples=20))
    named = tuple(name_metric(one) if isinstance(one, str) else one for one in metrics)
    return Suite(name, Path("suite.yaml"), "digest", sources, named, settings, **more)


def make_endpoint(backend: str, **settings: Any) -> EndpointSettings:
    """An endpoint's settings as a suite gives them."""
    return BACKENDS[backend].settings(**settings)


def lave_judge(
    alias: str = "lave", endpoint: EndpointSettings = STANDIN, **options: Any
) -> JudgeSettings:
    return JudgeSettings(alias, "lave", endpoint, LaveOptions(**options))


def correlate(lake: Lake, suite: Suite) -> "Agreements":
    """How a suite's judges agree with people, as its report computes it: without other tables,
    exports and page.
    """
    # scipy and matplotlib, which most tests of lakes do not need
    from judgelake.tasks.reports.build import keep_suite
    from judgelake.tasks.reports.correlations import correlate_judges

    with open_warehouse(lake, lazy=True) as connection:
        keep_suite(connection, suite)
        return correlate_judges(connection, suite)


def query(lake: Lake, text: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
    """What a statement finds in the lake as it is now."""
    cursor = run_sql(warehouse_for(lake, text), text, "test", parameters)
    names = [name for name, *_ in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def warehouse_for(lake: Lake, text: str) -> duckdb.DuckDBPyConnection:
    """A warehouse of the lake as it is now whose core views below a statement are tables: each is
    computed once, however many views read it, since planning them takes longer than most tests.
    """
    connection, computed = _open(lake, _stamp_files(lake), "computed")
    # what a report kept is read from its files
    below = set() if (lake.mirror / FOLDER).exists() else list_needed(text) & _CORE - computed
    for name in (name for name in view_order() if name in below):
        run_sql(connection, f"create temp table {name} as from memory.main.{name}", name)
        computed.add(name)
    return connection


def warehouse(lake: Lake) -> duckdb.DuckDBPyConnection:
    """An open warehouse of the lake as it is now, the same until its files change."""
    return _open(lake, _stamp_files(lake), "warehouse")[0]


_CORE = frozenset(name for name in view_order() if name.startswith("core_"))


def _stamp_files(lake: Lake) -> tuple[object, ...]:
    """Each part file that counts, with the time of its last change and its size."""
    parts = lake.take_snapshot().find_parts(*TABLES)
    return tuple(
        (str(file), file.stat().st_mtime_ns, file.stat().st_size)
        for files in parts.values()
        for file in files
    )


@functools.lru_cache(maxsize=24)
def _open(
    lake: Lake, _files: tuple[object, ...], _use: str
) -> tuple[duckdb.DuckDBPyConnection, set[str]]:
    """A warehouse, and the core views that are tables in it."""
    return open_warehouse(lake, lazy=True), set()


atexit.register(_open.cache_clear)  # duckdb complains of connections that outlive the interpreter


def read_shards(files: Sequence[LakePath]) -> list[Row]:
    return pl.concat([read_frame(file) for file in files]).to_dicts() if files else []
