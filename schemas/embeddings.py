"""The table of embeddings: what encoders made of texts and images, kept so that nothing is embedded
twice.

Only the contract lives here. Finding and keeping vectors is `tasks.metrics.embeddings`.
"""

import pandera.polars as pa
import polars as pl

from judgelake.schemas.judging import Strict


class Embeddings(Strict):
    """One row per encoder × content. `digest` is the sha256 of a text (UTF-8) or an image file;
    repeats of a row are harmless.
    """

    encoder: str = pa.Field(str_matches=r"^[0-9a-f]{16}$")
    encoder_signature: str
    digest: str = pa.Field(str_length={"min_value": 64, "max_value": 64})
    vector: pl.List(pl.Float32)
