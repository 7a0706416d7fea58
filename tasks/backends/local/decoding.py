"""Replies of a batch, a token at a time: the likeliest or a drawn one, the best alternatives beside
it; given texts scored.

What comes before the first token is `tasks.backends.local.models`. Imports torch: only what runs a
model imports this module.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

Alternatives = list[tuple[int, float]]


class Wanted(NamedTuple):
    """How one reply is written: `most` tokens, the likeliest ones where `temperature` is 0; `rng`
    draws the others.
    """

    most: int
    n_top: int
    temperature: float
    top_p: float
    rng: np.random.Generator


@dataclass
class Written:
    """Token ids without the one that ended the reply, and the best (id, log-probability) at each
    place with the chosen one among them.
    """

    ids: list[int] = field(default_factory=list)
    top: list[Alternatives] = field(default_factory=list)
    finish_reason: str = "length"
    n_tokens: int = 0


class Continuing(Protocol):
    """A batch in the middle of its replies."""

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits (rows, vocabulary) after these tokens, one a row."""

    def should_select(self, kept: int, rows: int) -> bool:
        """Whether to go on without the rows that ended, where `kept` of `rows` have not."""

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows alone, in this order."""


class Joined(NamedTuple):
    """Rows that came into the batch: logits (rows, vocabulary) of their first tokens."""

    logits: torch.Tensor
    wanted: Sequence[Wanted]


Join = Callable[[int, int], Joined | None]
"""Brings waiting rows into the batch; given how many rows it has, and for how many tokens more at
most.
"""


class Stopped(Exception):  # noqa: N818  # nothing is wrong
    """The backend was closed in the middle of a batch."""


class _ReplyRow:
    """A reply that is being written; `number` counts the rows as they came."""

    def __init__(self, number: int, wanted: Wanted) -> None:
        self.number, self.wanted, self.written, self.ended = number, wanted, Written(), False

    @property
    def left(self) -> int:
        """How many tokens it may still get."""
        return self.wanted.most - len(self.written.ids)


@torch.inference_mode()
def write_replies(
    first: Joined,
    running: Continuing,
    ends: frozenset[int],
    is_stopping: Callable[[], bool],
    join: Join,
) -> Iterator[tuple[int, Written]]:
    """The replies of all rows, each with its number, as they end; from the logits of first tokens
    on. Raises Stopped.
    """
    rows, logits = (
        [_ReplyRow(number, wanted) for number, wanted in enumerate(first.wanted)],
        first.logits,
    )
    n_begun = len(rows)
    while True:
        chosen, alternatives = choose_tokens(logits, [row.wanted for row in rows])
        for row, token, listed in zip(rows, chosen, alternatives, strict=True):
            if not row.ended and _take_token(row.written, token, listed, row.wanted, ends):
                row.ended = True
                yield row.number, row.written
        going = [place for place, row in enumerate(rows) if not row.ended]
        if not going:
            return
        if is_stopping():
            raise Stopped
        if len(going) < len(rows) and running.should_select(len(going), len(rows)):
            order = _pack(going)
            running.select(torch.tensor(order))
            rows, chosen = [rows[place] for place in order], [chosen[place] for place in order]
        logits = running.step(torch.tensor(chosen, device=logits.device))
        joined = join(len(rows), max(row.left for row in rows))
        if joined is not None:
            rows += [
                _ReplyRow(n_begun + place, wanted) for place, wanted in enumerate(joined.wanted)
            ]
            n_begun += len(joined.wanted)
            logits = torch.cat([logits, joined.logits])


def _pack(places: Sequence[int]) -> list[int]:
    """The places in an order in which as many as can be keep their number."""
    staying = set(places[: bisect_left(places, len(places))])
    moving = iter(places[len(staying) :])
    return [place if place in staying else next(moving) for place in range(len(places))]


def _take_token(
    written: Written, token: int, alternatives: Alternatives, wanted: Wanted, ends: frozenset[int]
) -> bool:
    """Put a token to a reply; whether that ends it."""
    written.n_tokens += 1
    if token in ends:
        written.finish_reason = "stop"
        return True
    written.ids.append(token)
    if wanted.n_top:
        listed = alternatives[: wanted.n_top]
        written.top.append(
            listed
            if any(listed_id == token for listed_id, _ in listed)
            else [alternatives[-1], *listed]
        )
    return len(written.ids) >= wanted.most


def choose_tokens(
    logits: torch.Tensor, wanted: Sequence[Wanted]
) -> tuple[list[int], list[Alternatives]]:
    """The next token of each row, and its best alternatives with the chosen one last; the
    log-probabilities are of temperature 1.
    """
    scores = logits.float()
    chosen: list[int] = scores.argmax(-1).tolist()
    for place, row in enumerate(wanted):
        if row.temperature > 0:
            chosen[place] = draw_token(scores[place], row)
    n_top = max(row.n_top for row in wanted)
    if not n_top:
        return chosen, [[] for _ in wanted]
    logprobs = scores.log_softmax(-1)
    values, ids = (found.tolist() for found in logprobs.topk(min(n_top, logprobs.shape[-1])))
    own = logprobs.gather(1, torch.tensor(chosen, device=logits.device)[:, None])[:, 0].tolist()
    listed = [list(zip(*pair, strict=True)) for pair in zip(ids, values, strict=True)]
    return chosen, [
        [*best, (token, value)] for best, token, value in zip(listed, chosen, own, strict=True)
    ]


def draw_token(scores: torch.Tensor, wanted: Wanted) -> int:
    """A token by its probability at the temperature, of the likeliest ones that hold `top_p`
    together (Holtzman et al. 2020).
    """
    shares, ids = (scores.double() / wanted.temperature).softmax(-1).sort(descending=True)
    sums = shares.cumsum(0)
    nucleus = int((sums - shares < wanted.top_p).sum())
    place = torch.searchsorted(
        sums[:nucleus], float(wanted.rng.random()) * float(sums[nucleus - 1]), right=True
    )
    return int(ids[min(int(place), nucleus - 1)])


@torch.inference_mode()
def score_tokens(logits: torch.Tensor, tokens: Sequence[int]) -> list[float]:
    """Log-probability of each given token from the logits (tokens, vocabulary) before it."""
    logprobs = logits.float().log_softmax(-1)
    chosen: Any = logprobs.gather(1, torch.tensor(tokens, device=logits.device)[:, None])[
        :, 0
    ].tolist()
    return [float(value) for value in chosen]
