"""Examples as token ids, and several of them as the tensors of one pass. The prompt's ids are those
of inference, made by the same code.

Imports torch: only what trains a model imports this module.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch

from judgelake.tasks.backends.local.control_tokens import ControlTokens
from judgelake.tasks.backends.local.loading import Loaded
from judgelake.tasks.backends.local.prompts import Prompt, Prompter, Speller
from judgelake.tasks.errors import BackendError
from judgelake.tasks.judging.reading import read_result_marker
from judgelake.tasks.training.examples import LEVELS, Example
from judgelake.tasks.types import Image

_KEPT_BYTES = 1 << 30
"""Of images made ready that stay in memory from epoch to epoch."""
IGNORED = -100
"""The label of tokens that nothing is learnt from."""


@dataclass(frozen=True)
class Row:
    """A prompt, and the tokens of the reply with the one that ends it."""

    prompt: Prompt
    target: tuple[int, ...]

    @property
    def n_tokens(self) -> int:
        """Of the prompt and the reply together."""
        return len(self.prompt.ids) + len(self.target)

    def label(self, whole: bool) -> list[int]:
        """What is learnt at each place: the reply's tokens, of a `whole` row also those of the
        prompt's text; IGNORED elsewhere.
        """
        asked = zip(self.prompt.ids, self.prompt.key, strict=True)
        texts = [token if whole and key >= 0 else IGNORED for token, key in asked]
        return [*([IGNORED, *texts[1:]] if texts else []), *self.target]

    @cached_property
    def shapes(self) -> str:
        """What rows of one pass have in common: their images lie one after the other in one
        tensor.
        """
        return repr(
            sorted((name, tuple(value.shape[1:])) for name, value in self.prompt.media.items())
        )


class TrainingRowMaker:
    """Makes rows for one model."""

    def __init__(self, loaded: Loaded, encode_image: Callable[[Image], str]) -> None:
        self._control = ControlTokens(loaded.tokenizer, loaded.processor)
        self._limit = loaded.limit
        self._prompter, self._speller = Prompter(loaded, encode_image), Speller(loaded.tokenizer)
        self._end = _find_end(loaded)
        self._kept: dict[int, tuple[Example, Row]] = {}
        self._media: dict[str, dict[str, Any]] = {}
        self._n_bytes = 0

    def make(self, example: Example) -> Row:
        """The row of an example, made once where the memory holds it; raises ValueError or
        BackendError where the model cannot be asked it.
        """
        held = self._kept.get(id(example))  # the example is kept too: no other has its id
        if held is not None:
            return held[1]
        row = self._share_media(self._make(example), example)
        media = row.prompt.media
        size = (
            0
            if self._find_media(example) is media
            else sum(value.nbytes for value in media.values())
        )
        if self._n_bytes + size <= _KEPT_BYTES:
            self._kept[id(example)] = (example, row)
            self._media.setdefault(_name_images(example), media)
            self._n_bytes += size
        return row

    def _share_media(self, row: Row, example: Example) -> Row:
        """The row with the tensors of an earlier example that shows the same images, so that they
        are in memory once.
        """
        known, media = self._find_media(example), row.prompt.media
        if known is None or known.keys() != media.keys():
            return row
        is_same = all(torch.equal(known[name], media[name]) for name in media)
        return Row(replace(row.prompt, media=known), row.target) if is_same else row

    def _find_media(self, example: Example) -> dict[str, Any] | None:
        return self._media.get(_name_images(example))

    def _make(self, example: Example) -> Row:
        if example.request.form == "forced" and example.request.answer is not None:
            return self._make_forced(example)
        # apart from the prompt, whose last tokens would else be others than the judge's
        ids = self._control.tokenise(example.target)
        return Row(self._prompter.make(example.request), (*ids, self._end))

    def _make_forced(self, example: Example) -> Row:
        """The row of a reply that is a label alone: the judge's own prompt up to the label's last
        token, which is what the judge reads.
        """
        (prompt, *others) = self._prompter.make_rows(example.request)
        reads = dict(prompt.labels)[example.target] if not others else ()
        last = prompt.read[reads[-1]] if reads else None
        if last is None or last[0] != len(prompt.tail):
            raise ValueError(
                "its answers differ before their last token; expected such as differ in it alone"
            )
        return Row(prompt, (last[1],))

    def find_fault(self, example: Example) -> str | None:
        """Why nothing can be learnt from an example; None where something can. An example is never
        shortened.
        """
        try:
            row = self.make(example)
        except (ValueError, BackendError) as error:
            return f"its prompt or image cannot be made ready ({type(error).__name__})"
        if row.n_tokens > self._limit:
            return f"it is longer than the {self._limit:,} tokens that the model takes"
        if example.request.form == "forced":
            return None
        most = example.request.decoding.max_tokens
        if len(row.target) > most:
            return f"its feedback is longer than the judge's max_tokens of {most:,}"
        read = read_result_marker(self._speller.spell(row.target), LEVELS)
        if read is None or read.rating != example.rating:
            return "the model's tokens for its feedback would not be read as its score"
        return None


class TrainingBatch(NamedTuple):
    """One pass: what the model takes, and the labels of the logits' columns that it is to keep."""

    inputs: dict[str, Any]
    labels: torch.Tensor


def collate(
    rows: Sequence[Row], device: Any, dtype: torch.dtype, *, whole: bool = False
) -> TrainingBatch:
    """Rows padded at their end; `labels` (rows, columns) are the tokens that follow each kept
    column's, only the replies' of them unless `whole` rows are learnt.
    """
    width = max(row.n_tokens for row in rows)
    first = 1 if whole else min(len(row.prompt.ids) for row in rows)
    placed = [_continue_positions(row) for row in rows]
    ids, mask = (torch.zeros(len(rows), width, dtype=torch.long) for _ in range(2))
    labels = torch.full((len(rows), width), IGNORED)
    positions = torch.zeros(max(map(len, placed)), len(rows), width, dtype=torch.long)
    for at, (row, place) in enumerate(zip(rows, placed, strict=True)):
        ids[at, : row.n_tokens] = torch.tensor((*row.prompt.ids, *row.target))
        mask[at, : row.n_tokens] = 1
        labels[at, : row.n_tokens] = torch.tensor(row.label(whole))
        positions[:, at, : row.n_tokens] = place
    inputs = {
        "input_ids": ids,
        "attention_mask": mask,
        "position_ids": positions if len(positions) > 1 else positions[0],
        **{
            name: torch.cat([row.prompt.media[name] for row in rows])
            for name in rows[0].prompt.media
        },
        **{name: _pad(rows, name, width) for name in rows[0].prompt.per_token},
    }
    moved = {
        name: value.to(device, dtype if value.is_floating_point() else None)
        for name, value in inputs.items()
    }
    return TrainingBatch(
        {**moved, "logits_to_keep": width - first + 1, "use_cache": False},
        labels[:, first:].to(device),
    )


def cut_batches(rows: Sequence[Row], batch_tokens: int) -> list[list[Row]]:
    """All rows, those of like images and length together, in passes of so many padded tokens; a
    longer row is a pass of its own.
    """
    batches: list[list[Row]] = []
    for row in sorted(rows, key=lambda row: (row.shapes, -row.n_tokens)):
        last = batches[-1] if batches else []
        if (
            last
            and last[0].shapes == row.shapes
            and (len(last) + 1) * last[0].n_tokens <= batch_tokens
        ):
            last.append(row)
        else:
            batches.append([row])
    return batches


def _continue_positions(row: Row) -> torch.Tensor:
    """Positions (axes, tokens) of a row: the reply's go on from the prompt's largest, as they do
    when it is written.
    """
    own: torch.Tensor | None = row.prompt.positions
    if own is None:
        return torch.arange(row.n_tokens)[None]
    after = own.max() + 1 + torch.arange(len(row.target))
    return torch.cat([own.cpu(), after.expand(len(own), -1)], 1)


def _pad(rows: Sequence[Row], name: str, width: int) -> torch.Tensor:
    """What the model wants beside each token: 0 beside the reply's, as text is."""
    whole = [
        torch.nn.functional.pad(row.prompt.per_token[name], (0, width - len(row.prompt.ids)))
        for row in rows
    ]
    return torch.cat(whole)


def _name_images(example: Example) -> str:
    return repr([message.images for message in example.request.messages])


def _find_end(loaded: Loaded) -> int:
    named = loaded.tokenizer.eos_token_id
    if named is None:
        raise BackendError(
            f"{loaded.settings.model}: its tokenizer names no token that ends a reply; "
            f"expected one; choose another"
        )
    return int(named)
