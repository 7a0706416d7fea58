"""Tables that come from outside: items, answers, captions, human ratings, and what did not pass.

Only contracts live here. Reading sources is `tasks.sources`, applying a contract
`tasks.lake.validation`.
"""

import pandera.polars as pa
import polars as pl

from judgelake.schemas.values import STYLES, TASKS, Image, Region

Instant = pl.Datetime("us", "UTC")


class Ingested(pa.DataFrameModel):
    """Columns of every ingested row: where it is from. `ingest_id` names the ingest; only the
    current one of a source is read.
    """

    benchmark: str = pa.Field(str_matches=r"^[a-z0-9][a-z0-9_.-]*$")
    ingest_id: str = pa.Field(str_length={"min_value": 1})
    source_file: str
    locator: str

    class Config:
        """No column more, no column less."""

        strict = True


class Items(Ingested):
    """One row per benchmark × item. `references` is a multiset; `cluster` is what bootstraps
    resample (the image, else the item).
    """

    item_id: str = pa.Field(str_length={"min_value": 1})
    task: str = pa.Field(isin=TASKS)
    prompt: str
    references: pl.List(pl.String)
    images: pl.List(Image)
    regions: pl.List(Region)
    category: str = pa.Field(nullable=True)
    split: str = pa.Field(nullable=True)
    cluster: str = pa.Field(str_length={"min_value": 1})


class Answers(Ingested):
    """One row per benchmark × item × answer. `content_digest` covers prompt, references and text;
    `n_repeats` collapsed repeats.
    """

    item_id: str = pa.Field(str_length={"min_value": 1})
    answer_id: str = pa.Field(str_length={"min_value": 1})
    model: str = pa.Field(nullable=True)
    style: str = pa.Field(isin=STYLES)
    sample: pl.Int64 = pa.Field(ge=0)
    text: str
    content_digest: str = pa.Field(str_length={"min_value": 16, "max_value": 16})
    n_repeats: pl.Int64 = pa.Field(ge=1)


class Captions(Ingested):
    """One row per image × captioner × caption; a data set's own captions are a captioner too."""

    image_uri: str = pa.Field(str_length={"min_value": 1})
    captioner: str = pa.Field(str_length={"min_value": 1})
    text: str


class HumanRatings(Ingested):
    """One row per annotator × answer × criterion, on the annotator's own scale with its ends."""

    item_id: str = pa.Field(str_length={"min_value": 1})
    answer_id: str = pa.Field(str_length={"min_value": 1})
    criterion: str = pa.Field(str_length={"min_value": 1})
    annotator: str = pa.Field(str_length={"min_value": 1})
    rating: pl.Float64
    scale_low: pl.Float64
    scale_high: pl.Float64

    @pa.dataframe_check
    def rating_within_scale(cls, data: pa.PolarsData) -> pl.LazyFrame:  # noqa: N805
        """A finite rating between the ends of its scale, which are finite and differ."""
        rating = pl.col("rating")
        low, high = pl.col("scale_low"), pl.col("scale_high")
        within = rating.is_finite() & (rating >= low) & (rating <= high)
        return data.lazyframe.select(within & low.is_finite() & high.is_finite() & (low < high))


class Ingests(pa.DataFrameModel):
    """One row per ingest of a benchmark's source; the newest one of (benchmark, source) is
    current. Of a random sample, `n_source_items` and `sample_seed` say of how many items it was
    drawn, and how; else they are null.
    """

    ingest_id: str
    benchmark: str
    source: str
    source_digest: str
    item_limit: pl.Int64 = pa.Field(nullable=True)
    n_source_items: pl.Int64 = pa.Field(nullable=True, ge=0)
    sample_seed: pl.Int64 = pa.Field(nullable=True, ge=0)
    n_items: pl.Int64
    n_answers: pl.Int64
    n_quarantined: pl.Int64
    ingested_at: Instant

    class Config:
        """No column more, no column less."""

        strict = True


class ReplacedAnswers(pa.DataFrameModel):
    """One row per answer × ingest that brought another content of it: the digest of the content
    that it had until `replaced_at`, by which its verdicts of then are found.
    """

    benchmark: str
    item_id: str
    answer_id: str
    content_digest: str = pa.Field(str_length={"min_value": 16, "max_value": 16})
    replaced_at: Instant

    class Config:
        """No column more, no column less."""

        strict = True


class ItemSamples(pa.DataFrameModel):
    """One row per benchmark × seed × item that a random sample has drawn; drawn once, and kept for
    all later ingests.
    """

    benchmark: str
    seed: pl.Int64 = pa.Field(ge=0)
    item_id: str = pa.Field(str_length={"min_value": 1})
    drawn_at: Instant

    class Config:
        """No column more, no column less."""

        strict = True


class Quarantine(pa.DataFrameModel):
    """One row per input row that did not pass: where it stood, which column and value, why, and
    what to do.
    """

    benchmark: str
    ingest_id: str
    table_name: str
    source_file: str
    locator: str
    column_name: str = pa.Field(nullable=True)
    value: str = pa.Field(nullable=True)
    reason: str
    remedy: str

    class Config:
        """No column more, no column less."""

        strict = True
