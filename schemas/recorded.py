"""Tables of what others judged, chose, labelled or published: recorded judges, human preferences,
labels, rubrics, models.

They come from outside like items and answers, so a source's new ingest replaces them; verdicts of
our own runs are `schemas.judging`.
"""

import pandera.polars as pa
import polars as pl

from judgelake.schemas.inputs import Ingested
from judgelake.schemas.judging import STATUSES, Logprob
from judgelake.schemas.values import CHOICES, FAILURE_CATEGORIES


class Paired(Ingested):
    """Two answers to one item; `shown_first` is the one that the judge saw first, null where nobody
    wrote it down.
    """

    item_id: str = pa.Field(str_length={"min_value": 1})
    answer_a: str = pa.Field(str_length={"min_value": 1})
    answer_b: str = pa.Field(str_length={"min_value": 1})
    criterion: str = pa.Field(str_length={"min_value": 1})
    shown_first: str = pa.Field(nullable=True, isin=("a", "b"))
    choice: str = pa.Field(nullable=True, isin=CHOICES)


class HumanPreferences(Paired):
    """One row per annotator × pair × criterion; a null choice is an annotator who gave none."""

    annotator: str = pa.Field(str_length={"min_value": 1})
    study: str = pa.Field(nullable=True)


class ChoiceSets(Ingested):
    """One row per annotator × choice set × criterion: answers shown together, and the one chosen as
    the best; null: none was.

    An item has one set, or several with different `choice_set`.
    """

    item_id: str = pa.Field(str_length={"min_value": 1})
    choice_set: str = pa.Field(str_length={"min_value": 1})
    criterion: str = pa.Field(str_length={"min_value": 1})
    annotator: str = pa.Field(str_length={"min_value": 1})
    answers: pl.List(pl.String)
    chosen: str = pa.Field(nullable=True)

    @pa.dataframe_check
    def several_answers(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Two answers or more, each once."""
        answers = pl.col("answers").list
        return data.lazyframe.select((answers.len() >= 2) & (answers.n_unique() == answers.len()))

    @pa.dataframe_check
    def chosen_is_shown(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """The answer chosen is one of those shown."""
        return data.lazyframe.select(
            pl.col("answers").list.contains(pl.col("chosen")) | pl.col("chosen").is_null()
        )


class FeedbackPreferences(Ingested):
    """One row per annotator × answer × criterion × two authors: whose feedback on the answer is
    better; a null choice: none given.
    """

    item_id: str = pa.Field(str_length={"min_value": 1})
    answer_id: str = pa.Field(str_length={"min_value": 1})
    criterion: str = pa.Field(str_length={"min_value": 1})
    author_a: str = pa.Field(str_length={"min_value": 1})
    author_b: str = pa.Field(str_length={"min_value": 1})
    annotator: str = pa.Field(str_length={"min_value": 1})
    choice: str = pa.Field(nullable=True, isin=CHOICES)


class RecordedDuels(Paired):
    """One row per recorded judge × pair × criterion × sample × order. `preference_b` is the share
    of the win that b got, in [0, 1].
    """

    judge: str = pa.Field(str_length={"min_value": 1})
    sample: pl.Int64 = pa.Field(ge=0)
    status: str = pa.Field(isin=STATUSES)
    preference_b: pl.Float64 = pa.Field(nullable=True, ge=0, le=1)
    score_a: pl.Float64 = pa.Field(nullable=True)
    score_b: pl.Float64 = pa.Field(nullable=True)
    text: str = pa.Field(nullable=True)
    top_logprobs: pl.List(pl.List(Logprob))
    reason: str = pa.Field(nullable=True)

    @pa.dataframe_check
    def choice_only_when_ok(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """A choice stands exactly where the status is `ok`."""
        return data.lazyframe.select((pl.col("status") == "ok") == pl.col("choice").is_not_null())


class RecordedVerdicts(Ingested):
    """One row per recorded judge × answer × criterion × sample: a transcribed rating, or one read
    from the raw `text`.
    """

    item_id: str = pa.Field(str_length={"min_value": 1})
    answer_id: str = pa.Field(str_length={"min_value": 1})
    judge: str = pa.Field(str_length={"min_value": 1})
    criterion: str = pa.Field(str_length={"min_value": 1})
    sample: pl.Int64 = pa.Field(ge=0)
    status: str = pa.Field(isin=STATUSES)
    rating: pl.Float64 = pa.Field(nullable=True)
    scale_low: pl.Float64
    scale_high: pl.Float64
    text: str = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)

    @pa.dataframe_check
    def rating_within_scale(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """A finite rating between the ends of its scale where the status is `ok`, none
        elsewhere.
        """
        rating = pl.col("rating")
        within = (
            rating.is_finite() & (rating >= pl.col("scale_low")) & (rating <= pl.col("scale_high"))
        )
        ok = pl.col("status") == "ok"
        return data.lazyframe.select(
            pl.when(ok).then(within.fill_null(False)).otherwise(rating.is_null())
        )


class RecordedScores(Ingested):
    """One row per recorded metric × answer: scores that cannot be computed here (SPICE, learned
    metrics).
    """

    item_id: str = pa.Field(str_length={"min_value": 1})
    answer_id: str = pa.Field(str_length={"min_value": 1})
    metric: str = pa.Field(str_length={"min_value": 1})
    score: pl.Float64 = pa.Field(nullable=True)


class FailureLabels(Ingested):
    """One row per answer × category × labeller: whether it holds of the answer; several may, and an
    answer may have none that does.
    """

    item_id: str = pa.Field(str_length={"min_value": 1})
    answer_id: str = pa.Field(str_length={"min_value": 1})
    category: str = pa.Field(isin=FAILURE_CATEGORIES)
    labeller: str = pa.Field(str_length={"min_value": 1})
    holds: pl.Boolean


class ItemLabels(Ingested):
    """One row per item × label × labeller: whether it holds of the item, such as `ground truth is
    wrong`.
    """

    item_id: str = pa.Field(str_length={"min_value": 1})
    label: str = pa.Field(str_length={"min_value": 1})
    labeller: str = pa.Field(str_length={"min_value": 1})
    holds: pl.Boolean


class Rubrics(Ingested):
    """One row per rubric: its criterion and what each level means, the lowest first."""

    rubric_id: str = pa.Field(str_length={"min_value": 1})
    criterion: str = pa.Field(str_length={"min_value": 1})
    levels: pl.List(pl.String)


class ItemRubrics(Ingested):
    """One row per item × rubric."""

    item_id: str = pa.Field(str_length={"min_value": 1})
    rubric_id: str = pa.Field(str_length={"min_value": 1})


class Models(Ingested):
    """One row per evaluated model: what is known of it, parameters in billions."""

    model: str = pa.Field(str_length={"min_value": 1})
    family: str = pa.Field(nullable=True)
    llm_parameters_b: pl.Float64 = pa.Field(nullable=True, gt=0)
    vision_encoder_parameters_b: pl.Float64 = pa.Field(nullable=True, gt=0)
    training_loss: pl.Float64 = pa.Field(nullable=True)


class BenchmarkScores(Ingested):
    """One row per model × published benchmark: the score that somebody published, on that
    benchmark's own scale.
    """

    model: str = pa.Field(str_length={"min_value": 1})
    published_benchmark: str = pa.Field(str_length={"min_value": 1})
    score: pl.Float64
