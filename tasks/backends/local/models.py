"""What comes before a batch's first token: a decoder after the beginning that its prompts share, or
an encoder and its decoder.

How tokens are chosen is `tasks.backends.local.decoding`. Imports torch: only what runs a model
imports this module.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache

from judgelake.tasks.backends.local.batches import count_common
from judgelake.tasks.backends.local.caches import (
    CacheKind,
    PrefixStore,
    RoomyLayer,
    copy_cache,
    inspect_caches,
    spread_cache,
)
from judgelake.tasks.backends.local.decoding import score_tokens
from judgelake.tasks.backends.local.loading import Loaded
from judgelake.tasks.backends.local.prompts import Prompt

_SLACK = 64
"""Columns beyond what is needed, so that rows can join for so many steps before all are copied
again.
"""


class DecoderBatch:
    """Rows of a decoder in the middle of their replies."""

    def __init__(
        self, loaded: Loaded, cache: Cache, mask: torch.Tensor, positions: torch.Tensor
    ) -> None:
        self._model, self._cache, self._mask, self._positions = loaded.model, cache, mask, positions
        self._selects = all(hasattr(layer, "batch_select_indices") for layer in cache.layers)
        self.joins = all(isinstance(layer, RoomyLayer) for layer in cache.layers)

    @property
    def width(self) -> int:
        """Columns that its rows take now."""
        return self._mask.shape[1]

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits (rows, vocabulary) after these tokens, one a row."""
        last = self._positions[..., -1:]
        self._positions = 1 + (
            last if last.ndim == 2 else last.amax(0, keepdim=True).expand_as(last)
        )
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(tokens), 1)], 1)
        given = {
            "attention_mask": self._mask,
            "position_ids": self._positions,
            "past_key_values": self._cache,
        }
        logits: torch.Tensor = self._model(
            input_ids=tokens[:, None], use_cache=True, **given
        ).logits[:, -1]
        return logits

    def should_select(self, kept: int, rows: int) -> bool:
        """Whether to go on without those that ended: where all the others must be copied for it,
        only with the half of them.
        """
        return self._selects and (self.joins or 2 * kept <= rows)

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows alone."""
        self._cache.batch_select_indices(rows)
        self._mask, self._positions = self._mask[rows], self._positions[..., rows, :]

    def join(self, other: "DecoderBatch", room: int) -> None:
        """Take the rows of another batch too, with `room` for tokens to come."""
        layers: list[Any] = self._cache.layers
        rows = len(self._mask) + len(other._mask)
        if other.width > self.width or not layers[0].takes(rows, self.width + room):
            dropped = int(self._mask.cumsum(1).eq(0).sum(1).min())
            width = max(self.width - dropped, other.width)
            for layer in layers:
                layer.move(dropped, width, rows, width + room + _SLACK)
            self._mask = _widen(self._mask[:, dropped:], width)
        for layer, new in zip(layers, other._cache.layers, strict=True):
            layer.add_rows(new)
        self._mask = torch.cat([self._mask, _widen(other._mask, self.width)])
        ours, theirs = self._positions[..., -1:], other._positions[..., -1:]
        axes = max(
            ours.shape[:-2], theirs.shape[:-2]
        )  # of a model with axes for images, rows without an image have one
        self._positions = torch.cat(
            [positions.expand(*axes, *positions.shape[-2:]) for positions in (ours, theirs)], -2
        )


class Decoder:
    """A decoder-only model, with or without eyes. What prompts of a batch share is computed once
    and kept for the next batch.
    """

    def __init__(self, loaded: Loaded, kept_tokens: int) -> None:
        self._loaded, self._model = loaded, loaded.model
        self.caches = inspect_caches(loaded.model)
        self._store = PrefixStore(kept_tokens)

    def begin(
        self, prompts: Sequence[Prompt], shared: Sequence[int], room: int
    ) -> tuple[torch.Tensor, DecoderBatch]:
        """Logits (rows, vocabulary) of the replies' first tokens, and the batch to go on with for
        `room` tokens.
        """
        logits, batch = self._run(prompts, shared, 1, room)
        return logits[:, -1], batch

    def score(self, prompts: Sequence[Prompt], shared: Sequence[int]) -> list[list[float]]:
        """The log-probabilities that each prompt has read."""
        logits, _ = self._run(prompts, shared, 1 + max(len(prompt.tail) for prompt in prompts), 0)
        return [
            score_tokens(row[len(row) - 1 - len(prompt.tail) :], prompt.read)
            for row, prompt in zip(logits, prompts, strict=True)
        ]

    def forget(self) -> None:
        """Give up all that is kept for later batches."""
        self._store.clear()

    @torch.inference_mode()
    def _run(
        self, prompts: Sequence[Prompt], shared: Sequence[int], keep: int, room: int
    ) -> tuple[torch.Tensor, DecoderBatch]:
        """Logits (rows, keep, vocabulary) at the prompts' ends, all of which end in the same
        column.
        """
        start, prefix = self._compute_shared(prompts, shared, keep)
        device, rows = self._loaded.device, len(prompts)
        longest = max(len(prompt.ids) for prompt in prompts) - start
        ids = torch.zeros(rows, longest, dtype=torch.long)
        mask = torch.ones(rows, start + longest, dtype=torch.long)
        axes = max(len(_find_positions(prompt)) for prompt in prompts)
        positions = torch.zeros(axes, rows, longest, dtype=torch.long)
        for row, prompt in enumerate(prompts):
            pad = longest - (len(prompt.ids) - start)
            ids[row, pad:] = torch.tensor(prompt.ids[start:])
            mask[row, start : start + pad] = 0
            positions[:, row, pad:] = _find_positions(prompt)[:, start:]
        mask, positions = mask.to(device), (positions if axes > 1 else positions[0]).to(device)
        cache = spread_cache(prefix, rows, longest + room)
        given = self._find_media(prompts[0], start, len(prompts[0].ids))
        given |= {"attention_mask": mask, "position_ids": positions, "past_key_values": cache}
        logits = self._model(
            input_ids=ids.to(device), use_cache=True, logits_to_keep=keep, **given
        ).logits
        return logits[:, -keep:], DecoderBatch(self._loaded, cache, mask, positions)

    def _compute_shared(
        self, prompts: Sequence[Prompt], shared: Sequence[int], keep: int
    ) -> tuple[int, Cache]:
        """The cache of what the prompts have in common, as far as it is kept already or `shared`
        says that it is worth it.
        """
        first = prompts[0]
        cache: Cache = DynamicCache(config=self._model.config)
        if not self.caches.shares:
            return 0, cache
        common = min(
            count_common(first.key, prompt.key, len(prompt.key) - keep) for prompt in prompts
        )
        start, kept = self._store.find(first.key, common)
        start, cache = (0, cache) if kept is None or start < first.images_end else (start, kept)
        for end in shared:
            if end > start:
                self._extend(cache, first, start, end)
                self._store.keep(first.key[:end], cache)
                start, cache = end, copy_cache(cache, end)
        return start, cache

    def _extend(self, cache: Cache, prompt: Prompt, start: int, end: int) -> None:
        """Compute the tokens from `start` to `end` of a prompt."""
        device = self._loaded.device
        positions = _find_positions(prompt)[:, start:end].to(device)
        given = self._find_media(prompt, start, end) | {"past_key_values": cache}
        self._model(
            input_ids=torch.tensor([prompt.ids[start:end]], device=device),
            attention_mask=torch.ones(1, end, dtype=torch.long, device=device),
            position_ids=positions[:, None] if len(positions) > 1 else positions,
            use_cache=True,
            logits_to_keep=1,
            **given,
        )

    def _find_media(self, prompt: Prompt, start: int, end: int) -> dict[str, Any]:
        """What the model takes beside the tokens from `start` to `end`: their images, where these
        are among them.
        """
        if start >= prompt.images_end:
            return {}
        given = {name: _move(value, self._model) for name, value in prompt.media.items()}
        return given | {
            name: value[:, start:end].to(self._loaded.device)
            for name, value in prompt.per_token.items()
        }


class EncoderDecoderBatch:
    """Rows of a decoder that looks at its encoded prompts, in the middle of their replies."""

    def __init__(self, loaded: Loaded, encoded: torch.Tensor, mask: torch.Tensor) -> None:
        self._model, self._encoded, self._mask = loaded.model, encoded, mask
        self._cache = EncoderDecoderCache(DynamicCache(), DynamicCache())

    def run(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits (rows, tokens, vocabulary) after these tokens (rows, tokens)."""
        output = self._model(
            encoder_outputs=(self._encoded,),
            attention_mask=self._mask,
            decoder_input_ids=tokens,
            past_key_values=self._cache,
            use_cache=True,
        )
        logits: torch.Tensor = output.logits
        return logits

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits (rows, vocabulary) after these tokens, one a row."""
        return self.run(tokens[:, None])[:, -1]

    def should_select(self, kept: int, rows: int) -> bool:
        """Whether to go on without those that ended: all the others are copied for it."""
        return 2 * kept <= rows

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows alone."""
        self._cache.batch_select_indices(rows)
        self._encoded, self._mask = self._encoded[rows], self._mask[rows]


class EncoderDecoder:
    """A model with an encoder of text, which looks at the whole prompt: there is nothing to
    share.
    """

    caches = CacheKind(None, shares=False)

    def __init__(self, loaded: Loaded) -> None:
        self._loaded, self._model = loaded, loaded.model

    def begin(
        self, prompts: Sequence[Prompt], _shared: Sequence[int], _room: int
    ) -> tuple[torch.Tensor, EncoderDecoderBatch]:
        """Logits (rows, vocabulary) of the replies' first tokens, and the batch to go on with."""
        logits, batch = self._run(prompts)
        return logits[:, -1], batch

    def score(self, prompts: Sequence[Prompt], _shared: Sequence[int]) -> list[list[float]]:
        """The log-probabilities that each prompt has read."""
        logits, _ = self._run(prompts)
        return [score_tokens(row, prompt.read) for row, prompt in zip(logits, prompts, strict=True)]

    def forget(self) -> None:
        """Nothing is kept."""

    @torch.inference_mode()
    def _run(self, prompts: Sequence[Prompt]) -> tuple[torch.Tensor, EncoderDecoderBatch]:
        """Logits (rows, tokens, vocabulary) after the start token and each of a prompt's `tail`."""
        device, longest = self._loaded.device, max(len(prompt.ids) for prompt in prompts)
        ids, mask = (torch.zeros(len(prompts), longest, dtype=torch.long) for _ in range(2))
        begun = torch.full(
            (len(prompts), 1 + max(len(prompt.tail) for prompt in prompts)),
            self._find_start(),
        )
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt.ids)] = torch.tensor(prompt.ids)
            mask[row, : len(prompt.ids)] = 1
            begun[row, 1 : 1 + len(prompt.tail)] = torch.tensor(prompt.tail, dtype=torch.long)
        ids, mask = ids.to(device), mask.to(device)
        encoded = self._model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        batch = EncoderDecoderBatch(self._loaded, encoded, mask)
        return batch.run(begun.to(device)), batch

    def _find_start(self) -> int:
        config = self._model.config
        start = self._model.generation_config.decoder_start_token_id
        return int(start if start is not None else config.decoder_start_token_id)


def _find_positions(prompt: Prompt) -> torch.Tensor:
    """Positions (axes, tokens) of a prompt's tokens."""
    positions: torch.Tensor | None = prompt.positions
    return torch.arange(len(prompt.ids))[None] if positions is None else positions


def _widen(mask: torch.Tensor, width: int) -> torch.Tensor:
    """A mask (rows, columns) with columns before it that nothing looks at."""
    return torch.cat([mask.new_zeros(len(mask), width - mask.shape[1]), mask], 1)


def _move(value: torch.Tensor, model: Any) -> torch.Tensor:
    """A tensor of a prompt's images on the model's device, numbers of pixels in its dtype."""
    return (
        value.to(model.device, model.dtype) if value.is_floating_point() else value.to(model.device)
    )
