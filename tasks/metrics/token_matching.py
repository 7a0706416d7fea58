"""The work of BERTScore: contextual token vectors of distinct strings, each kept while it is
needed, and their greedy matching.

What is made of precision and recall (F1, baselines, several references) is
`tasks.metrics.bert_score`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from judgelake.tasks.metrics.local_models import (
    TokenTexts,
    batch_by_length,
    import_torch,
)
from judgelake.tasks.metrics.pairs import Ids

Weights = npt.NDArray[np.float32]

BLOCK_BYTES = 128 * 2**20
"""Vectors of one block of pairs, were all its texts distinct."""
KEPT_BYTES = 256 * 2**20
"""Vectors that later blocks need again; what does not fit is encoded again."""
MATCH_BYTES = 16 * 2**20
"""Vectors of the pairs that are compared at once."""


@dataclass(frozen=True)
class TokenEncoder:
    """A model that makes a vector of each token; `padding` is the token that fills batches."""

    model: Any
    padding: int
    batch_tokens: int

    @property
    def dimensions(self) -> int:
        """Numbers of one vector."""
        return int(self.model.config.hidden_size)

    def encode(self, texts: TokenTexts, ids: Ids) -> Any:
        """Unit vectors of all tokens of the texts `ids`, text after text in their order: (tokens,
        dimensions) in float32.
        """
        torch = import_torch()
        lengths = texts.lengths[ids]
        starts = np.cumsum(lengths) - lengths
        vectors: Any = torch.empty((int(lengths.sum()), self.dimensions), device=self.model.device)
        for batch in batch_by_length(np.arange(len(ids)), lengths, self.batch_tokens):
            tokens, mask = (
                part.to(self.model.device) for part in texts.pad(ids[batch], self.padding)
            )
            with torch.inference_mode():
                hidden = self.model(input_ids=tokens, attention_mask=mask).last_hidden_state.float()
            places = torch.from_numpy(_list_places(starts[batch], lengths[batch])).to(hidden.device)
            vectors[places] = torch.nn.functional.normalize(hidden[mask.bool()], dim=1)
        return vectors


def match_tokens(
    encoder: TokenEncoder, texts: TokenTexts, weights: Weights, answer_ids: Ids, reference_ids: Ids
) -> npt.NDArray[np.float64]:
    """Precision and recall of each pair of texts, (pairs, 2): weighted means of the highest
    cosines; NaN where all weights are 0.

    `weights` go by token id. Pairs are taken block by block; a text is encoded in the first block
    that needs it.
    """
    matched = np.empty((len(answer_ids), 2))
    vector_bytes = 4 * encoder.dimensions
    sizes = texts.lengths[answer_ids] + texts.lengths[reference_ids]
    blocks = np.cumsum(sizes) * vector_bytes // BLOCK_BYTES
    both = np.concatenate([answer_ids, reference_ids])
    last = np.zeros(len(texts.lengths), np.int64)
    np.maximum.at(last, both, np.tile(blocks, 2))
    held = _HeldVectors(encoder, texts, last, np.bincount(both, minlength=len(last)))
    by_token = import_torch().from_numpy(weights)
    for block in np.unique(blocks):
        places = np.flatnonzero(blocks == block)
        held.load(
            block,
            np.unique(np.concatenate([answer_ids[places], reference_ids[places]])),
            KEPT_BYTES // vector_bytes,
        )
        for batch in batch_by_length(places, sizes[places], MATCH_BYTES // vector_bytes):
            matched[batch] = _match_batch(held, by_token, answer_ids[batch], reference_ids[batch])
    return matched


class _HeldVectors:
    """Vectors of the texts in use: encoded when a block first needs them, kept while a later one
    does and there is room.
    """

    def __init__(self, encoder: TokenEncoder, texts: TokenTexts, last: Ids, uses: Ids) -> None:
        self.encoder, self.texts, self.last, self.uses = encoder, texts, last, uses
        self.starts: Ids = np.full(len(last), -1)
        self.vectors: Any = import_torch().empty(
            (0, encoder.dimensions), device=encoder.model.device
        )

    def load(self, block: int, needed: Ids, room: int) -> None:
        """Hold the texts `needed` and, up to `room` tokens, those that later blocks need, most
        often used ones first.
        """
        torch = import_torch()
        stay = np.flatnonzero((self.starts >= 0) & (self.last >= block))
        wanted = np.isin(stay, needed)
        stay = stay[np.lexsort([-self.uses[stay], ~wanted])]
        stay = stay[(np.cumsum(self.texts.lengths[stay]) <= room) | np.isin(stay, needed)]
        new = np.setdiff1d(needed, stay)
        kept = _list_places(self.starts[stay], self.texts.lengths[stay])
        self.vectors = torch.cat(
            [self.vectors[torch.from_numpy(kept)], self.encoder.encode(self.texts, new)]
        )
        held = np.concatenate([stay, new])
        self.starts[:] = -1
        self.starts[held] = np.cumsum(self.texts.lengths[held]) - self.texts.lengths[held]

    def gather(self, ids: Ids, weights: Any) -> tuple[Any, Any, Any]:
        """Vectors (texts, longest, dimensions), which of them are tokens, and their weights (both
        (texts, longest)).
        """
        torch = import_torch()
        tokens, mask = self.texts.pad(ids, 0)
        places = (torch.from_numpy(self.starts[ids])[:, None] + torch.arange(mask.shape[1])) * mask
        device = self.vectors.device
        return (
            self.vectors[places.to(device)],
            mask.bool().to(device),
            (weights[tokens] * mask).to(device),
        )


def _match_batch(
    held: _HeldVectors, weights: Any, answer_ids: Ids, reference_ids: Ids
) -> npt.NDArray[np.float64]:
    torch = import_torch()
    answers, answer_mask, answer_weights = held.gather(answer_ids, weights)
    references, reference_mask, reference_weights = held.gather(reference_ids, weights)
    cosines = torch.bmm(answers, references.transpose(1, 2))
    nowhere = ~(answer_mask[:, :, None] & reference_mask[:, None, :])
    cosines.masked_fill_(nowhere, -2.0)
    precision = (cosines.amax(2) * answer_weights).sum(1) / answer_weights.sum(1)
    recall = (cosines.amax(1) * reference_weights).sum(1) / reference_weights.sum(1)
    matched: npt.NDArray[np.float64] = torch.stack([precision, recall], 1).double().cpu().numpy()
    return matched


def _list_places(starts: Ids, lengths: Ids) -> Ids:
    """All places of the ranges [start, start + length), range after range."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)
