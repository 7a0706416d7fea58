"""Writes the replies of a batch token by token (the likeliest token, or a drawn one) with the best
alternatives; also scores given texts.

Prompts are processed in `tasks.backends.local.models`. Imports torch: only modules that run a model
import this one.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from judgelake.tasks.types import REPEATS

_REPEATED, _LONGEST_PERIOD, _LOOK = 96, 32, 16
"""Tokens that must repeat, the longest sequence that is looked for, and how often one looks."""
Alternatives = list[tuple[int, float]]


class Wanted(NamedTuple):
    """How one reply is written: `most` tokens at most, `n_top` alternatives listed for each. At
    temperature 0 the likeliest token is taken, else `rng` draws it.
    """

    most: int
    n_top: int
    temperature: float
    top_p: float
    rng: np.random.Generator


@dataclass
class Written:
    """A reply: its token ids without the one that ended it, and at each place the best (id,
    log-probability), which include the chosen token.
    """

    ids: list[int] = field(default_factory=list)
    top: list[Alternatives] = field(default_factory=list)
    finish_reason: str = "length"
    n_tokens: int = 0


class Continuing(Protocol):
    """A batch whose replies are being written."""

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits (rows, vocabulary) after these tokens, one a row."""

    def should_select(self, kept: int, rows: int) -> bool:
        """Whether to go on without the rows that ended, where `kept` of `rows` have not."""

    def select(self, rows: torch.Tensor) -> None:
        """Keep only these rows, in this order."""


class Joined(NamedTuple):
    """Rows that join the batch: logits (rows, vocabulary) of their first tokens, and how to write
    them.
    """

    logits: torch.Tensor
    wanted: Sequence[Wanted]


Join = Callable[[int, int], Joined | None]
"""Adds waiting rows to the batch. Its arguments: how many rows the batch has, and the most tokens
that they will still run.
"""


class Stopped(Exception):  # noqa: N818  # nothing is wrong
    """The backend was closed while a batch was running."""


class _ReplyRow:
    """A reply that is being written; rows are numbered in the order in which they joined."""

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
    """Write the replies of all rows, beginning with the logits of their first tokens; yields each
    with its number when it ends. Raises Stopped where the backend is closed.
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
    """The places, ordered so that as many as possible stay at their own index."""
    staying = set(places[: bisect_left(places, len(places))])
    moving = iter(places[len(staying) :])
    return [place if place in staying else next(moving) for place in range(len(places))]


def _take_token(
    written: Written, token: int, alternatives: Alternatives, wanted: Wanted, ends: frozenset[int]
) -> bool:
    """Append a token to a reply; returns whether the reply ends with it."""
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
    if wanted.temperature == 0 and len(written.ids) % _LOOK == 0 and repeats_itself(written.ids):
        written.finish_reason = REPEATS
        return True
    return len(written.ids) >= wanted.most


def repeats_itself(ids: Sequence[int]) -> bool:
    """Whether the last 96 tokens are one sequence of at most 32 again and again, which a model that
    writes the likeliest token seldom leaves.
    """
    tail = ids[-_REPEATED:]
    return len(tail) == _REPEATED and any(
        tail[period:] == tail[:-period] for period in range(1, _LONGEST_PERIOD + 1)
    )


def choose_tokens(
    logits: torch.Tensor, wanted: Sequence[Wanted]
) -> tuple[list[int], list[Alternatives]]:
    """The next token of each row, and its best alternatives followed by the chosen one, with
    log-probabilities at temperature 1.
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
    values, ids = (part.tolist() for part in logprobs.topk(min(n_top, logprobs.shape[-1])))
    own = logprobs.gather(1, torch.tensor(chosen, device=logits.device)[:, None])[:, 0].tolist()
    listed = [list(zip(*pair, strict=True)) for pair in zip(ids, values, strict=True)]
    return chosen, [
        [*best, (token, value)] for best, token, value in zip(listed, chosen, own, strict=True)
    ]


def draw_token(scores: torch.Tensor, wanted: Wanted) -> int:
    """A token drawn by its probability at the temperature, from the likeliest tokens whose
    probabilities sum to `top_p` (nucleus sampling, Holtzman et al. 2020).
    """
    shares, ids = (scores.double() / wanted.temperature).softmax(-1).sort(descending=True)
    sums = shares.cumsum(0)
    nucleus = int((sums - shares < wanted.top_p).sum())
    place = torch.searchsorted(
        sums[:nucleus], float(wanted.rng.random()) * float(sums[nucleus - 1]), right=True
    )
    return int(ids[min(int(place), nucleus - 1)])


def choose_label(logprobs: Sequence[float], wanted: Wanted) -> int:
    """The likeliest of the answers, or one drawn by their renormalised probabilities at the
    temperature.
    """
    scores = torch.tensor(logprobs, dtype=torch.double)
    return draw_token(scores, wanted) if wanted.temperature > 0 else int(scores.argmax())


@torch.inference_mode()
def score_tokens(logits: torch.Tensor, read: Sequence[tuple[int, int]]) -> list[float]:
    """The log-probability of each (row, token) of the logits (rows, vocabulary)."""
    rows, tokens = torch.tensor(read, device=logits.device).T
    chosen: Any = logits.float().log_softmax(-1)[rows, tokens].tolist()
    return [float(value) for value in chosen]
