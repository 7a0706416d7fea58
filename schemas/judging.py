"""Tables that judging writes: judges, matchups, cases, replies, batches, verdicts, duels, captions,
metric scores, runs.

Only contracts live here. Who writes which row when is described in `tasks.engine.engine` and
`tasks.planning.cases`.
"""

import pandera.polars as pa
import polars as pl

from judgelake.schemas.inputs import Instant
from judgelake.schemas.values import STYLES

STATUSES = ("ok", "unparsed", "refused", "truncated", "filtered", "failed", "missing_image")
Logprob = pl.Struct({"token": pl.String, "logprob": pl.Float64})
BATCH_STATES = ("planned", "submitted", "collected", "failed", "abandoned")
RequestKey = pl.Struct({"request_digest": pl.String, "draw": pl.Int64})
BatchRefusal = pl.Struct({"request_digest": pl.String, "draw": pl.Int64, "error": pl.String})


class Strict(pa.DataFrameModel):
    """No column more, no column less."""

    class Config:
        """No column more, no column less."""

        strict = True


class Judges(Strict):
    """One row per suite × alias × registration: the call signature is the judge, the reading
    signature how it is read.
    """

    judge_id: str = pa.Field(str_matches=r"^[0-9a-f]{16}$")
    reading: str
    kind: str = pa.Field(isin=("judge", "captioner", "labeller", "metric", "collector", "answerer"))
    alias: str
    suite: str
    call_signature: str
    reading_signature: str
    tasks: pl.List(pl.String)
    benchmarks: pl.List(pl.String)
    registered_at: Instant


class CaseKey(Strict):
    """What names a case: judge × content × context × criterion × sample; equal answers to one item
    are one case.
    """

    judge_id: str
    benchmark: str
    item_id: str
    content_digest: str
    context_digest: str
    criterion: str
    sample: pl.Int64


class PairKey(CaseKey):
    """A case of two contents: `content_digest` is a, `other_digest` b, `shown_first` which of them
    the judge was shown first.
    """

    other_digest: str = pa.Field(nullable=True)
    shown_first: str = pa.Field(nullable=True, isin=("", "a", "b"))


class Cases(PairKey):
    """One row per case that some run wanted; a key is written again only when its context changed.
    Only pairs have an `other_digest`.
    """

    run_id: str
    planned_at: Instant


class Matchups(Strict):
    """One row per plan × pair of answers of an item that was drawn to be compared; drawn once,
    extended, never redrawn.
    """

    benchmark: str
    plan: str
    item_id: str
    answer_a: str
    answer_b: str
    run_id: str
    drawn_at: Instant


class Replies(Strict):
    """One row per request digest × draw: what was paid for, kept before any verdict that rests on
    it.

    `cost_usd` is null where the model's price was not known, 0 where nobody is paid;
    `cached_tokens` are among `prompt_tokens`. `adapted`: settings that the model did not take, or
    took and did not heed (`without logprobs`); null where all was as asked.
    """

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
    cached_tokens: pl.Int64 = pa.Field(nullable=True)
    cost_usd: pl.Float64 = pa.Field(nullable=True, ge=0)
    adapted: str = pa.Field(nullable=True)
    run_id: str
    replied_at: Instant


class Batches(Strict):
    """One row per change of state of a file of requests that goes to the provider's Batch API; the
    view keeps the latest of each.

    `requests` stand in the `planned` row, in the order of the file's lines, and that row is written
    before anything is uploaded. `adaptation` (JSON): what these requests had to do without.
    `refusals`: what the provider said of those it will not answer.
    """

    judge_id: str
    batch_key: str
    state: str = pa.Field(isin=BATCH_STATES)
    endpoint: str
    requested_model: str
    base_url: str
    n_requests: pl.Int64
    n_bytes: pl.Int64
    requests: pl.List(RequestKey)
    refusals: pl.List(BatchRefusal)
    adaptation: str = pa.Field(nullable=True)
    file_id: str = pa.Field(nullable=True)
    batch_id: str = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    planned_at: Instant
    noted_at: Instant
    run_id: str


class Verdicts(CaseKey):
    """One row per attempt at a case under one reading; the view keeps one a key: `ok` first, else
    the latest.
    """

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
        return data.lazyframe.select(
            (pl.col("status") == "ok") == pl.col("score_0_1").is_not_null()
        )


class Duels(PairKey):
    """One row per attempt at a pair under one reading. `preference_b` is the share of the win that
    b gets, in [0, 1].
    """

    reading: str
    status: str = pa.Field(isin=STATUSES)
    choice: str = pa.Field(nullable=True, isin=("a", "b", "tie"))
    preference_b: pl.Float64 = pa.Field(nullable=True, ge=0, le=1)
    score_a: pl.Float64 = pa.Field(nullable=True)
    score_b: pl.Float64 = pa.Field(nullable=True)
    probabilities: pl.List(pl.Struct({"level": pl.String, "probability": pl.Float64}))
    captured_mass: pl.Float64 = pa.Field(nullable=True)
    rationale: str = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    reply_digests: pl.List(pl.String)
    run_id: str
    judged_at: Instant

    @pa.dataframe_check
    def choice_only_when_ok(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """A choice stands exactly where the status is `ok`."""
        return data.lazyframe.select((pl.col("status") == "ok") == pl.col("choice").is_not_null())


class GeneratedCaptions(CaseKey):
    """One row per attempt at an image: the caption that a judge wrote. The context is the image;
    `content_digest` is empty.
    """

    image_uri: str
    reading: str
    status: str = pa.Field(isin=STATUSES)
    text: str = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    reply_digests: pl.List(pl.String)
    run_id: str
    judged_at: Instant

    @pa.dataframe_check
    def text_only_when_ok(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """A caption stands exactly where the status is `ok`."""
        return data.lazyframe.select((pl.col("status") == "ok") == pl.col("text").is_not_null())


class GeneratedAnswers(CaseKey):
    """One row per attempt at an answer to an item, by an answerer. The content is the item's
    prompt, the context its images; `sample` counts from 0. The view `answers` has those whose
    status is `ok`, as answers of `model` in `style`.
    """

    reading: str
    model: str = pa.Field(str_length={"min_value": 1})
    style: str = pa.Field(isin=STYLES)
    status: str = pa.Field(isin=STATUSES)
    text: str = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    reply_digests: pl.List(pl.String)
    run_id: str
    judged_at: Instant

    @pa.dataframe_check
    def text_only_when_ok(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """An answer stands exactly where the status is `ok`."""
        return data.lazyframe.select((pl.col("status") == "ok") == pl.col("text").is_not_null())


class MetricScores(Strict):
    """One row per metric × answer content; `score` is null, with a reason, where the metric is
    undefined.

    `context_digest` is the item's first image, 16 digits of its sha256 (`none` where it has none),
    for a metric that sees it, else empty. `statistics` are the row's additive numbers, by which the
    metric's corpus score is computed from their sums.
    """

    judge_id: str
    benchmark: str
    item_id: str
    content_digest: str
    context_digest: str = pa.Field(nullable=True)
    score: pl.Float64 = pa.Field(nullable=True)
    statistics: pl.List(pl.Float64) = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    run_id: str
    scored_at: Instant


class Runs(Strict):
    """One row per run: what it was, when, what it did and how it ended. `cost_usd` is null where
    some reply's price was not known.

    `outcome`: `running` and `reporting` while it runs; `done`, `stopped`, `failed`, `over budget`
    or `nothing to do` once it has ended; `lost` where it ended without a word, which the next run
    writes, with the time when it was last seen as its end. `exit_code` is null while it runs, of a
    lost run, and of runs before there was one.
    """

    run_id: str
    suite: str
    suite_digest: str
    stage: str
    started_at: Instant
    ended_at: Instant
    outcome: str
    exit_code: pl.Int64 = pa.Field(nullable=True)
    n_calls: pl.Int64
    n_replies_reused: pl.Int64
    n_verdicts: pl.Int64
    n_failed: pl.Int64
    prompt_tokens: pl.Int64
    completion_tokens: pl.Int64
    cost_usd: pl.Float64 = pa.Field(nullable=True, ge=0)
    seed: pl.Int64
    versions: str
