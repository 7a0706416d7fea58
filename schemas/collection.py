"""Tables of the collection of feedback: rubrics, instructions and responses that a model generated.

Only contracts live here. What is asked and how it is read is `tasks.judging.collect_*`.
"""

import pandera.polars as pa
import polars as pl

from judgelake.schemas.inputs import Instant
from judgelake.schemas.judging import STATUSES, CaseKey, Strict
from judgelake.schemas.values import RUBRIC_KINDS

COLLECTED_STATUSES = (*STATUSES, "rejected")
FIGURES = ("overlap", "mean_overlap", "unseen", "sentiment", "decisive")


class Collected(CaseKey):
    """Columns of all that collectors generate. `criterion` names which of the generations of a case
    it is, such as `rubric-2`.
    """

    image_uri: str
    reading: str
    status: str = pa.Field(isin=COLLECTED_STATUSES)
    reason: str = pa.Field(nullable=True)
    reply_digests: pl.List(pl.String)
    run_id: str
    judged_at: Instant


class CollectedRubrics(Collected):
    """One row per attempt at a rubric for an image. The context is the image; `content_digest` is
    empty. One that does not fit its image after all refinements is `rejected`, and kept.
    """

    kind: str = pa.Field(nullable=True, isin=RUBRIC_KINDS)
    rubric_id: str = pa.Field(nullable=True)
    description: str = pa.Field(nullable=True)
    levels: pl.List(pl.String) = pa.Field(nullable=True)
    keywords: pl.List(pl.String) = pa.Field(nullable=True)
    n_refined: pl.Int64 = pa.Field(nullable=True, ge=0)

    @pa.dataframe_check
    def rubric_when_ok(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """A rubric stands where the status is `ok`."""
        return data.lazyframe.select(
            (pl.col("status") != "ok") | pl.col("description").is_not_null()
        )


class ScreenedRubrics(Strict):
    """One row per rubric that was compared with the seeds and with those kept before it, once and
    for all. `nearest_id` is the rubric that it has the highest `rouge_l` with, in [0, 1].
    """

    judge_id: str
    reading: str
    benchmark: str
    context_digest: str
    criterion: str
    rubric_id: str
    is_kept: pl.Boolean
    nearest_id: str = pa.Field(nullable=True)
    rouge_l: pl.Float64 = pa.Field(ge=0, le=1)
    run_id: str
    screened_at: Instant


class CollectedInstructions(Collected):
    """One row per attempt at an instruction with its reference answer (score 5) for a rubric, which
    is the content.
    """

    rubric_id: str = pa.Field(nullable=True)
    instruction_id: str = pa.Field(nullable=True)
    instruction: str = pa.Field(nullable=True)
    reference: str = pa.Field(nullable=True)

    @pa.dataframe_check
    def instruction_when_ok(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Instruction and reference answer stand where the status is `ok`."""
        both = pl.col("instruction").is_not_null() & pl.col("reference").is_not_null()
        return data.lazyframe.select((pl.col("status") != "ok") | both)


class CollectedResponses(Collected):
    """One row per attempt at a response of a score from 1 to 5, and feedback on it, to an
    instruction, which is the content. Lengths are in words.
    """

    rubric_id: str = pa.Field(nullable=True)
    instruction_id: str = pa.Field(nullable=True)
    score: pl.Int64 = pa.Field(nullable=True, ge=1, le=5)
    response: str = pa.Field(nullable=True)
    feedback: str = pa.Field(nullable=True)
    n_words: pl.Int64 = pa.Field(nullable=True, ge=0)
    n_reference_words: pl.Int64 = pa.Field(nullable=True, ge=0)

    @pa.dataframe_check
    def response_when_ok(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Response and feedback stand where the status is `ok`."""
        both = pl.col("response").is_not_null() & pl.col("feedback").is_not_null()
        return data.lazyframe.select((pl.col("status") != "ok") | both)


class AugmentedItems(Collected):
    """One row per attempt at a rubric, and a reference answer of score 5, for an item that has no
    rubric of its own. The content is the item's prompt with its references, the context its images.
    `reference` is null where the item keeps its own references.
    """

    rubric_id: str = pa.Field(nullable=True)
    description: str = pa.Field(nullable=True)
    levels: pl.List(pl.String) = pa.Field(nullable=True)
    reference: str = pa.Field(nullable=True)

    @pa.dataframe_check
    def augmentation_when_ok(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """A rubric stands where the status is `ok`."""
        return data.lazyframe.select(
            (pl.col("status") != "ok") | pl.col("description").is_not_null()
        )


class CollectionFigures(Strict):
    """One row per suite × figure × benchmark × what its rubrics are compared with × level.

    `overlap`: the share of pairs of rubrics whose ROUGE-L lies from `level` up to the next one, n
    pairs; `mean_overlap`: its mean. `unseen`: the share of the n rubrics of `compared_with` that
    repeat none of the collection. `sentiment`: the mean, from -1 to 1, of what n rubrics say of the
    score `level`. `decisive`: the share of n rubrics whose score 5 sounds better than score 1.
    """

    suite: str
    figure: str = pa.Field(isin=FIGURES)
    benchmark: str
    compared_with: str = pa.Field(nullable=True)
    level: pl.Float64 = pa.Field(nullable=True)
    value: pl.Float64 = pa.Field(nullable=True)
    n: pl.Int64 = pa.Field(ge=0)
    reported_at: Instant
