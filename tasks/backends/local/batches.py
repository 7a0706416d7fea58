"""Plans which prompts run in one batch, and which prefixes they share, so that each prefix is
computed once. Prompts are sequences of numbers here; no model is run.

Sorted prompts form a tree of common prefixes. A branch gets batches of its own where that saves
more tokens than its extra forward passes cost.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

LEAST_SHARED = 16
"""Tokens: a shorter prefix is not worth a forward pass of its own."""
# levels of the tree; far below Python's limit on recursion
_DEEPEST = 60
# a split must save more than 15 % of the cost in tokens
_CLEARLY = 0.85


class PlannedPrompt(NamedTuple):
    """What planning needs of a prompt. `key`: its tokens; an image's tokens are replaced by a
    negative number, one for each different picture. `room`: the most tokens of its reply.

    `keep`: tokens at the end that cannot be part of a shared prefix, because their logits are
    needed. `images_end`: where its last image ends, 0 for none.
    """

    key: tuple[int, ...]
    room: int
    keep: int = 1
    images_end: int = 0

    @property
    def shareable(self) -> int:
        """The length of the longest prefix that it may share with other prompts."""
        return max(0, len(self.key) - self.keep)


class PromptBatch(NamedTuple):
    """Prompts (by their number) that run together; `shared` are the lengths of their common
    prefixes, ascending: each is computed from the cache of the one before.
    """

    rows: tuple[int, ...]
    shared: tuple[int, ...]


class Rules(NamedTuple):
    """Limits of a batch. `batch_tokens`: the most tokens of a batch, replies included. `overhead`:
    the fixed cost of a forward pass, in tokens. `pass_tokens`: the most tokens of one forward pass.

    `shares`: whether prefixes can be shared. `window`: rows that are longer, reply included, are
    not padded.
    """

    batch_tokens: int
    overhead: int
    pass_tokens: int
    shares: bool = True
    window: int | None = None


def plan_batches(asked: Sequence[PlannedPrompt], rules: Rules) -> list[PromptBatch]:
    """All prompts in batches. Prompts with images are put together only with prompts of the same
    images, which are part of their shared prefix.
    """
    order = sorted(range(len(asked)), key=lambda number: asked[number].key)
    tree = _Tree(asked, order, rules)
    return [batch for group in tree.plan() for batch in _cut(asked, group, rules)]


def count_common(tokens: Sequence[int], other: Sequence[int], most: int) -> int:
    """The length of the longest common prefix, at most `most`."""
    low, high = 0, min(len(tokens), len(other), most)
    while low < high:  # slices compare at the speed of C
        middle = (low + high + 1) // 2
        if tokens[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class _Tree:
    def __init__(self, asked: Sequence[PlannedPrompt], order: list[int], rules: Rules) -> None:
        self._asked, self._order, self._rules = asked, order, rules
        self._common = [0] * len(order)
        for place in range(1, len(order)):
            before, prompt = asked[order[place - 1]], asked[order[place]]
            self._common[place] = count_common(
                before.key, prompt.key, min(before.shareable, prompt.shareable)
            )

    def plan(self) -> list[PromptBatch]:
        return self._plan(0, len(self._order), (), 0)[1] if self._order else []

    def _plan(
        self, start: int, end: int, steps: tuple[int, ...], depth: int
    ) -> tuple[int, list[PromptBatch]]:
        """The cost in tokens of the prompts from place `start` to `end`, and their cheapest
        batches, where the prefixes `steps` are already computed.
        """
        base = steps[-1] if steps else 0
        rows = tuple(self._order[start:end])
        needed = max(self._asked[row].images_end for row in rows)
        shared = min(self._common[start + 1 : end], default=0) if len(rows) > 1 else needed
        own = self._take(steps, shared, needed)
        top = own[-1] if own else 0
        together = (
            top - base + sum(len(self._asked[row].key) - top for row in rows) + self._rules.overhead
        )
        if len(rows) == 1:
            return together, [PromptBatch(rows, own)]
        cuts = [place for place in range(start + 1, end) if self._common[place] == shared]
        apart, batches = top - base, list[PromptBatch]()
        if depth < _DEEPEST or top < needed:
            for low, high in zip([start, *cuts], [*cuts, end], strict=True):
                cost, part = self._plan(low, high, own, depth + 1)
                apart, batches = apart + cost, [*batches, *part]
        if top >= needed and (not batches or together * _CLEARLY <= apart):
            return together, [PromptBatch(rows, own)]
        return apart, batches

    def _take(self, steps: tuple[int, ...], shared: int, needed: int) -> tuple[int, ...]:
        base = steps[-1] if steps else 0
        if not self._rules.shares or shared < needed:  # no prefix ends among the images
            return steps
        return (*steps, shared) if base < needed or shared - base >= LEAST_SHARED else steps


def _cut(asked: Sequence[PlannedPrompt], group: PromptBatch, rules: Rules) -> Iterator[PromptBatch]:
    """A group in batches that fit the budget, the longest prompts first."""
    rows = sorted(group.rows, key=lambda row: -len(asked[row].key))
    start = 0
    while start < len(rows):
        longest = len(asked[rows[start]].key)
        room = max(asked[row].room for row in rows[start:])
        end = start + max(
            1,
            min(
                rules.batch_tokens // (longest + room),
                rules.pass_tokens // (longest - sum(group.shared[-1:])),
            ),
        )
        if rules.window is not None and longest + room > rules.window:
            end = min(
                end,
                next(
                    (at for at in range(start, len(rows)) if len(asked[rows[at]].key) < longest),
                    len(rows),
                ),
            )
        yield PromptBatch(tuple(rows[start:end]), group.shared)
        start = end
