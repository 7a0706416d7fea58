"""One shard of a metric's answers, from the shard file to scores in the lake. What a metric computes is its own file."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from tasks.judging.protocols import Identity
from tasks.lake import Lake, append_rows
from tasks.metrics.registry import resolve_metric


@dataclass(frozen=True)
class ScoreOrder:
    """All a worker needs to score one shard file."""

    lake: Lake
    run_id: str
    identity: Identity
    answers_file: Path


def run_metric_shard(order: ScoreOrder) -> int:
    """Score one shard and write it whole; returns how many rows. A row the metric is undefined for has no score but a reason."""
    rows = pl.read_parquet(order.answers_file)
    answers = rows["answer"].to_arrow().cast(pa.string())
    references = rows["references"].to_arrow().cast(pa.list_(pa.string()))
    scores = resolve_metric(order.identity.alias).compute(answers, references)
    undefined = np.isnan(scores)
    frame = rows.select("benchmark", "item_id", "content_digest").with_columns(
        judge_id=pl.lit(order.identity.judge_id),
        score=pl.Series(scores).fill_nan(None),
        reason=pl.when(pl.Series(undefined)).then(pl.lit("the item has no reference answers")),
        run_id=pl.lit(order.run_id),
        scored_at=pl.lit(datetime.now(UTC)),
    )
    append_rows(order.lake, "metric_scores", frame)
    return frame.height
