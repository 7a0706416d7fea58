"""The rows of one shard as metrics take them: columns, and what is made of them once for all
metrics of the shard.

What a metric computes is its own file; who fills the columns is `tasks.metrics.shard`.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.metrics.tokenizers import TOKENIZERS
from judgelake.tasks.metrics.tokens import TokenRows, tokenise_rows

# not at run time: the stand-in's rules need a metric's, and would load pandera and pandas for it
if TYPE_CHECKING:
    from judgelake.tasks.lake.lake import Lake


@dataclass(frozen=True)
class ScoreRows:
    """n answers with their reference lists; `images` are (uri, sha256) of each item's first image,
    null where it has none.

    `lake` is where what is computed once for all runs is kept (embeddings); without one nothing is.
    """

    answers: pa.Array
    references: pa.ListArray
    images: pa.StructArray | None = None
    image_root: LakePath | None = None
    lake: "Lake | None" = None
    _tokens: dict[str, TokenRows] = field(default_factory=dict, repr=False, compare=False)

    def tokenise(self, tokenizer: str, *, split: bool = False) -> TokenRows:
        """Answers and references as token ids; each tokenizer runs once, whatever number of metrics
        asks for it.

        `split`: a token that holds white space (a no-break space, in PTB's `1 1/2`) becomes
        several.
        """
        if tokenizer not in self._tokens:
            self._tokens[tokenizer] = tokenise_rows(
                self.answers, self.references, TOKENIZERS[tokenizer]
            )
        return split_tokens(self._tokens[tokenizer]) if split else self._tokens[tokenizer]


def split_tokens(rows: TokenRows) -> TokenRows:
    """The same rows with every token split at white space; almost always there is none in any, and
    the rows are given back.
    """
    parts = [text.split() for text in rows.vocabulary]
    counts = np.fromiter(map(len, parts), np.int64, len(parts))
    if (counts == 1).all():
        return rows
    flat = pa.array(
        [text for part in parts for text in part], pa.large_string()
    ).dictionary_encode()
    starts, repeats = np.cumsum(counts) - counts, counts[rows.tokens]
    before = np.concatenate([[0], np.cumsum(repeats)])
    within = np.arange(before[-1]) - np.repeat(before[:-1], repeats)
    tokens = flat.indices.to_numpy()[np.repeat(starts[rows.tokens], repeats) + within].astype(
        np.int32
    )
    return rows._replace(
        tokens=tokens, offsets=before[rows.offsets], vocabulary=flat.dictionary.to_pylist()
    )
