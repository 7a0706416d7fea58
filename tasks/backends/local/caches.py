"""Key-value caches of prefixes that prompts share: they are kept by their tokens, extended by more
tokens, and copied to the rows of a batch with room for replies.

Imports torch and transformers: only modules that run a model import this one.
"""

import copy
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers.cache_utils import (
    Cache,
    DummyLayer,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionLayer,
)

from judgelake.tasks.backends.local.batches import count_common


class RoomyLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """One layer's keys and values with free columns after them, so that a step writes in place;
    `DynamicLayer` copies all earlier tokens at each step.

    All rows end in the same column. A row that leaves is overwritten by one of the last rows, and
    rows of another batch can be added.
    """

    def __init__(self, layer: DynamicLayer, rows: int, room: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._length = layer.get_seq_length()
        self._room = self._length + room
        if layer.keys is not None and layer.values is not None and self._length:
            self._allocate(layer.keys, layer.values, rows)
            self._whole_keys[:, :, : self._length] = layer.keys
            self._whole_values[:, :, : self._length] = layer.values

    def _allocate(self, keys: torch.Tensor, values: torch.Tensor, rows: int) -> None:
        self._whole_keys = keys.new_empty(rows, keys.shape[1], self._room, keys.shape[3])
        self._whole_values = values.new_empty(rows, values.shape[1], self._room, values.shape[3])
        self._rows = rows
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the new states; returns all states so far."""
        if not self.is_initialized:
            self._allocate(key_states, value_states, key_states.shape[0])
        start, self._length = self._length, self._length + key_states.shape[2]
        self._whole_keys[: self._rows, :, start : self._length] = key_states
        self._whole_values[: self._rows, :, start : self._length] = value_states
        return self._whole_keys[: self._rows, :, : self._length], self._whole_values[
            : self._rows, :, : self._length
        ]

    def get_seq_length(self) -> int:
        """How many tokens the layer holds."""
        return self._length

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep only these rows; a row that keeps its place is not copied."""
        places = (indices != torch.arange(len(indices))).nonzero()[:, 0]
        for whole in (self._whole_keys, self._whole_values):
            whole[places, :, : self._length] = whole[indices[places], :, : self._length]
        self._rows = len(indices)

    def takes(self, rows: int, columns: int) -> bool:
        """Whether there is room for so many rows and columns."""
        return rows <= self._whole_keys.shape[0] and columns <= self._room

    def move(self, dropped: int, length: int, rows: int, columns: int) -> None:
        """Copy to a layer of `rows` and `columns`, without the first `dropped` columns, so that the
        rows end at column `length`.
        """
        kept = self._length - dropped
        for name in ("_whole_keys", "_whole_values"):
            old = getattr(self, name)
            # zeros: masked values are multiplied by 0, which must not meet a NaN
            new = old.new_zeros(rows, old.shape[1], columns, old.shape[3])
            new[: self._rows, :, length - kept : length] = old[
                : self._rows, :, dropped : self._length
            ]
            setattr(self, name, new)
        self._length, self._room = length, columns

    def add_rows(self, other: "RoomyLayer") -> None:
        """Append the rows of another batch, which then end in the same column; there must be room
        for them.
        """
        first, start = self._rows, self._length - other._length
        self._rows += other._rows
        for whole, new in (
            (self._whole_keys, other._whole_keys),
            (self._whole_values, other._whole_values),
        ):
            whole[first : self._rows, :, :start] = 0
            whole[first : self._rows, :, start : self._length] = new[
                : other._rows, :, : other._length
            ]


class CacheKind(NamedTuple):
    """What a model's caches allow. `window`: a row of more tokens must not be padded (None: any row
    may be). `shares`: prompts can share a prefix's cache and extend it.

    `why_not`: why a decoder's prompts cannot share, '' where they can. `looks_ahead`: a prompt's
    tokens see those after them.
    """

    window: int | None
    shares: bool
    why_not: str = ""
    looks_ahead: bool = False


def inspect_caches(model: Any) -> CacheKind:
    """Find out what a model's caches allow, by their layers.

    A layer with a sliding window counts padding as tokens. A recurrent layer cannot skip padding,
    and its state cannot be cut to a shorter prefix. Where a prompt's tokens attend in both
    directions (PaliGemma), the states of its beginning depend on its end. Layers that read another
    layer's keys and values (in Gemma 3n and Gemma 4) have none of their own and are left out.
    """
    layers = [
        layer
        for layer in DynamicCache(config=model.config).layers
        if not isinstance(layer, DummyLayer)
    ]
    if any(type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer) for layer in layers):
        known = (DynamicLayer, DynamicSlidingWindowLayer, LinearAttentionLayer)
        shares = all(type(layer) in known for layer in layers) and _goes_on(model)
        return CacheKind(0, shares, "" if shares else "its layers keep a state that cannot be cut")
    windows = [
        layer.sliding_window for layer in layers if isinstance(layer, DynamicSlidingWindowLayer)
    ]
    looks_ahead = (
        getattr(model.config.get_text_config(decoder=True), "use_bidirectional_attention", None)
        is True
    )
    return CacheKind(
        min(windows, default=None),
        not looks_ahead,
        "its prompt's tokens attend in both directions" if looks_ahead else "",
        looks_ahead,
    )


@torch.inference_mode()
def _goes_on(model: Any) -> bool:
    """Whether recurrent layers go on from their stored state when several tokens follow at once
    (Qwen3.5's do, Jamba's do not). No configuration says so; it is tried.
    """
    ids = torch.arange(1, 17, device=model.get_input_embeddings().weight.device)[None]
    cache: Cache = DynamicCache(config=model.config)
    at = torch.arange(9, 16, device=ids.device)[None]
    given: list[dict[str, Any]] = [{"input_ids": ids}, {"input_ids": ids[:, 9:]}]
    given.append(
        {
            "input_ids": ids[:, 9:],
            "past_key_values": cache,
            "position_ids": at,
            "attention_mask": torch.ones_like(ids),
        }
    )
    try:
        model(input_ids=ids[:, :9], past_key_values=cache, use_cache=True)
        whole, forgetful, continued = (
            model(**inputs, use_cache=True).logits[0, -1].float() for inputs in given
        )
    except Exception:  # raised by model code that expects a single token there
        return False
    return bool((continued - whole).norm() < 0.05 * (forgetful - whole).norm())


def copy_cache(cache: Cache, length: int) -> Cache:
    """A copy of a cache's first `length` tokens; extending it does not change the cache."""
    if any(type(layer) is not DynamicLayer for layer in cache.layers):
        return copy.deepcopy(cache)
    copied = copy.copy(cache)
    copied.layers = [copy.copy(layer) for layer in cache.layers]
    layer: Any
    for layer in copied.layers:
        if layer.keys is not None and layer.values is not None:
            layer.keys, layer.values = layer.keys[:, :, :length], layer.values[:, :, :length]
    return copied


def spread_cache(cache: Cache, rows: int, room: int) -> Cache:
    """The cache of one row copied to `rows` rows, with room for `room` more tokens."""
    spread = copy_cache(cache, cache.get_seq_length())
    spread.layers = [
        RoomyLayer(layer, rows, room) if type(layer) is DynamicLayer else layer
        for layer in spread.layers
    ]
    layer: Any
    for layer in spread.layers:
        if isinstance(layer, LinearAttentionLayer):
            layer.reorder_cache(torch.LongTensor([0] * rows))
        elif not isinstance(layer, RoomyLayer) and cache.get_seq_length():
            layer.batch_repeat_interleave(rows)
    return spread


class PrefixStore:
    """Caches of prefixes by their keys. Where they hold more than `most_tokens` together, those
    used longest ago are removed.
    """

    def __init__(self, most_tokens: int) -> None:
        self._most = most_tokens
        self._kept: OrderedDict[tuple[int, ...], Cache] = OrderedDict()

    def find(self, key: Sequence[int], most: int) -> tuple[int, Cache | None]:
        """The length of the longest prefix of `key`, at most `most` tokens, that a kept cache
        holds, and a copy of that cache; (0, None) where there is none.
        """
        best, best_key = 0, None
        for kept, cache in self._kept.items():
            common = count_common(kept, key, most)
            if common < len(kept) and any(
                type(layer) is not DynamicLayer for layer in cache.layers
            ):
                continue  # such a cache cannot be cut
            if common > best:
                best, best_key = common, kept
        if best_key is None:
            return 0, None
        self._kept.move_to_end(best_key)
        return best, copy_cache(self._kept[best_key], best)

    def keep(self, key: tuple[int, ...], cache: Cache) -> None:
        """Keep a cache; it must not be written to any more."""
        self._kept[key] = cache
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(map(len, self._kept)) > self._most:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Remove all caches."""
        self._kept.clear()
