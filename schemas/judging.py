"""Tables that judging writes: judges, cases, replies, verdicts, metric scores, runs.

Only contracts live here. Who writes which row when is told in `tasks.judging.engine` and `tasks.planning`.
"""

import pandera.polars as pa
import polars as pl

from schemas.inputs import Instant

STATUSES = ("ok", "unparsed", "refused", "truncated", "filtered", "failed", "missing_image")
Logprob = pl.Struct({"token": pl.String, "logprob": pl.Float64})


class Strict(pa.DataFrameModel):
    """No column more, no column less."""

    class Config:
        """No column more, no column less."""

        strict = True


class Judges(Strict):
    """One row per suite × alias × registration: the call signature is the judge, the reading signature how it is read."""

    judge_id: str = pa.Field(str_matches=r"^[0-9a-f]{16}$")
    reading: str
    kind: str = pa.Field(isin=("judge", "metric"))
    alias: str
    suite: str
    call_signature: str
    reading_signature: str
    tasks: pl.List(pl.String)
    benchmarks: pl.List(pl.String)
    registered_at: Instant


class CaseKey(Strict):
    """What names a case: judge × content × context × criterion × sample; equal answers to one item are one case."""

    judge_id: str
    benchmark: str
    item_id: str
    content_digest: str
    context_digest: str
    criterion: str
    sample: pl.Int64


class Cases(CaseKey):
    """One row per case that some run wanted; a key is written again only when its context changed."""

    run_id: str
    planned_at: Instant


class Replies(Strict):
    """One row per request digest × draw: what was paid for, kept before any verdict that rests on it."""

    judge_id: str
    request_digest: str = pa.Field(str_length={"min_value": 64, "max_value": 64})
    draw: pl.Int64
    text: str
    finish_reason: str
    refusal: str = pa.Field(nullable=True)
    top_logprobs: pl.List(pl.List(Logprob))
    requested_model: str
    resolved_model: str
    prompt_tokens: pl.Int64 = pa.Field(nullable=True)
    completion_tokens: pl.Int64 = pa.Field(nullable=True)
    latency_ms: pl.Float64 = pa.Field(nullable=True)
    run_id: str
    replied_at: Instant


class Verdicts(CaseKey):
    """One row per attempt at a case under one reading; the view keeps one a key: `ok` first, else the latest."""

    reading: str
    status: str = pa.Field(isin=STATUSES)
    rating: pl.Float64 = pa.Field(nullable=True)
    score_0_1: pl.Float64 = pa.Field(nullable=True, ge=0, le=1)
    probabilities: pl.List(pl.Struct({"level": pl.String, "probability": pl.Float64}))
    captured_mass: pl.Float64 = pa.Field(nullable=True)
    rationale: str = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    reply_digests: pl.List(pl.String)
    run_id: str
    judged_at: Instant

    @pa.dataframe_check
    def score_only_when_ok(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """A score stands exactly where the status is `ok`."""
        return data.lazyframe.select((pl.col("status") == "ok") == pl.col("score_0_1").is_not_null())


class MetricScores(Strict):
    """One row per metric × answer content; `score` is null, with a reason, where the metric is undefined."""

    judge_id: str
    benchmark: str
    item_id: str
    content_digest: str
    score: pl.Float64 = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    run_id: str
    scored_at: Instant


class Runs(Strict):
    """One row per run: what it was, when, what it did and how it ended."""

    run_id: str
    suite: str
    suite_digest: str
    stage: str
    started_at: Instant
    ended_at: Instant
    outcome: str
    n_calls: pl.Int64
    n_replies_reused: pl.Int64
    n_verdicts: pl.Int64
    n_failed: pl.Int64
    prompt_tokens: pl.Int64
    completion_tokens: pl.Int64
    seed: pl.Int64
    versions: str
