"""The lake's store of embeddings: what an encoder made of a text or an image is found again by the
sha256 of its content.

Which encoder, and what it embeds, is each metric's own file. The store keeps one vector per text or
image, never one per token.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq

from judgelake.tasks.digests import digest_json
from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.metrics.pairs import Ids

TABLE = "embeddings"

Vectors = npt.NDArray[np.float32]
_NONE: Vectors = np.empty((0, 0), np.float32)


class StoredVectors(NamedTuple):
    """What the store has of n contents: `known` says which, `vectors` has one row for each of
    these, in order.
    """

    known: npt.NDArray[np.bool_]
    vectors: Vectors


@dataclass(frozen=True)
class EmbeddingStore:
    """The vectors of one encoder in a lake; `encoder_signature` holds everything that can change
    them. Picklable, opens no file.
    """

    lake: Lake
    encoder_signature: str

    @property
    def encoder(self) -> str:
        """16 hex digits that name the encoder, its partition of the table."""
        return digest_json(self.encoder_signature)[:16]

    def find(self, digests: Sequence[str]) -> StoredVectors:
        """The vectors of the contents with these digests, as far as the lake has them.

        One part file is in memory at a time, and its vectors are read only where it has one that is
        wanted.
        """
        wanted = pl.DataFrame(
            {"digest": digests, "place": np.arange(len(digests))},
            {"digest": pl.String, "place": pl.Int64},
        )
        known, vectors = np.zeros(len(digests), np.bool_), _NONE
        for part in self.lake.part_files(f"{TABLE}/encoder={self.encoder}"):
            rows, places, of_part = _find_in(part, wanted)
            if len(rows):
                vectors = (
                    vectors
                    if len(vectors)
                    else np.empty((len(digests), of_part.shape[1]), np.float32)
                )
                vectors[places] = of_part[rows]
                known[places] = True
        return StoredVectors(known, vectors[known] if known.any() else _NONE)

    def keep(self, digests: Sequence[str], vectors: Vectors) -> None:
        """Add one part file with the vector of each digest; the same content kept
        again adds an equal row, which does no harm.
        """
        rows = pl.DataFrame(
            {"digest": digests, "vector": pl.Series(vectors).cast(pl.List(pl.Float32))}
        )
        stamp = {
            "encoder": pl.lit(self.encoder),
            "encoder_signature": pl.lit(self.encoder_signature),
        }
        append_rows(self.lake, TABLE, rows.with_columns(**stamp))


def digest_texts(texts: Sequence[str]) -> list[str]:
    """Sha256 (hex) of each text's UTF-8, as SQL's `sha256(text)`."""
    return [hashlib.sha256(text.encode()).hexdigest() for text in texts]


def embed_once(
    digests: Sequence[str],
    costs: Ids,
    embed: Callable[[Ids], Vectors],
    store: EmbeddingStore | None,
    *,
    chunk: int,
) -> Vectors:
    """One vector per digest: found in the store, else made by `embed` (places -> vectors) and kept,
    `chunk` at a time.

    The cheap come first, so that contents of like cost are embedded together and little is padded.
    A vector that is not finite is what could not be embedded; it is not kept.
    """
    known, stored = (
        store.find(digests) if store else StoredVectors(np.zeros(len(digests), np.bool_), _NONE)
    )
    missing = np.flatnonzero(~known)
    missing = missing[np.argsort(costs[missing], kind="stable")]
    vectors = _NONE
    for start in range(0, len(missing), chunk):
        places = missing[start : start + chunk]
        made = embed(places)
        whole = np.isfinite(made).all(axis=1)
        if store and whole.any():
            store.keep([digests[place] for place in places[whole]], made[whole])
        vectors = vectors if len(vectors) else np.empty((len(digests), made.shape[1]), np.float32)
        vectors[places] = made
    if not len(missing):
        return stored
    if len(stored):
        vectors[known] = stored
    return vectors


def _find_in(part: Path, wanted: pl.DataFrame) -> tuple[Ids, Ids, Vectors]:
    """Rows of a part file that are wanted, their places, and the vectors of all its rows, read only
    where one is wanted.
    """
    with pq.ParquetFile(part) as file:
        hits = (
            pl.DataFrame(file.read(columns=["digest"]))
            .with_row_index("row")
            .join(wanted, on="digest")
        )
        if hits.is_empty():
            return np.empty(0, np.int64), np.empty(0, np.int64), _NONE
        column = file.read(columns=["vector"])["vector"].combine_chunks()
    matrix = column.flatten().to_numpy().reshape(len(column), -1)
    return hits["row"].cast(pl.Int64).to_numpy(), hits["place"].to_numpy(), matrix
