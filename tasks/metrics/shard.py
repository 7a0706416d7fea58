"""One shard of answers, from the shard file to the scores of several metrics in the lake. What a
metric computes is its own file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from judgelake.tasks.errors import MetricError
from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.lake.parquet import read_frame
from judgelake.tasks.lake.storage import LakePath, has_file, local_copy, write_whole
from judgelake.tasks.metrics.documents import read_documents
from judgelake.tasks.metrics.metric import Metric, Scored
from judgelake.tasks.metrics.rows import ScoreRows
from judgelake.tasks.metrics.settings import MetricSettings
from judgelake.tasks.types import Identity


@dataclass(frozen=True)
class CountOrder:
    """What a metric counts before it scores: in `documents`, once for all shards of a run, into
    `file`.
    """

    documents: LakePath
    file: LakePath


@dataclass(frozen=True)
class MetricPart:
    """One metric of a shard."""

    settings: MetricSettings
    identity: Identity
    counts: CountOrder | None = None


@dataclass(frozen=True)
class ScoreOrder:
    """All a worker needs to score one shard file: paths and settings."""

    lake: Lake
    run_id: str
    parts: tuple[MetricPart, ...]
    answers_file: LakePath
    image_root: LakePath


@dataclass(frozen=True)
class ScoreResult:
    """Scores that were written, of all metrics together, and why some metric has none (a line
    each).
    """

    n_scores: int
    failures: tuple[str, ...] = ()


def run_metric_shard(order: ScoreOrder) -> ScoreResult:
    """Score one shard, each metric's scores written whole; a metric that cannot run here does not
    keep the others from running.
    """
    frame = read_frame(order.answers_file)
    rows = _take_rows(frame, order)
    failures: list[str] = []
    for part in order.parts:
        metric = part.settings.resolve()
        try:
            with _count_once(metric, part.counts) as counts:
                scored = metric.compute(rows, counts)
        except MetricError as error:
            failures.append(f"{part.settings.alias}: {error}")
        else:
            append_rows(
                order.lake,
                "metric_scores",
                _stamp(frame, scored, metric, part.identity, order.run_id),
            )
    return ScoreResult(frame.height * (len(order.parts) - len(failures)), tuple(failures))


@contextmanager
def _count_once(metric: Metric, order: CountOrder | None) -> Iterator[Path | None]:
    """The file of counts; the first shard that needs it makes it."""
    if order is None or metric.counting is None:
        yield None
        return
    if not has_file(order.file):
        with local_copy(order.documents) as documents:
            write_whole(order.file, metric.counting.count(read_documents(documents)))
    with local_copy(order.file) as counts:
        yield counts


def _take_rows(frame: pl.DataFrame, order: ScoreOrder) -> ScoreRows:
    image = pa.struct([("uri", pa.string()), ("sha256", pa.string())])
    return ScoreRows(
        answers=frame["answer"].to_arrow().cast(pa.string()),
        references=frame["references"].to_arrow().cast(pa.list_(pa.string())),
        images=frame["image"].to_arrow().cast(image),
        image_root=order.image_root,
        lake=order.lake,
    )


def _stamp(
    frame: pl.DataFrame, scored: Scored, metric: Metric, identity: Identity, run_id: str
) -> pl.DataFrame:
    """Rows of the table `metric_scores`. A row the metric is undefined for has no score but a
    reason.
    """
    undefined = pl.Series(np.isnan(scored.scores))
    reasons = (
        pl.Series(scored.reasons, dtype=pl.String) if scored.reasons else pl.lit(metric.undefined)
    )
    statistics = (
        pl.Series(scored.statistics).cast(pl.List(pl.Float64))
        if metric.statistics
        else pl.lit(None, pl.List(pl.Float64))
    )
    return frame.select("benchmark", "item_id", "content_digest").with_columns(
        judge_id=pl.lit(identity.judge_id),
        context_digest=frame["image_digest"] if metric.sees_image else pl.lit(""),
        score=pl.Series(scored.scores).fill_nan(None),
        statistics=pl.when(~undefined).then(statistics),
        reason=pl.when(undefined).then(reasons),
        run_id=pl.lit(run_id),
        scored_at=pl.lit(datetime.now(UTC)),
    )
