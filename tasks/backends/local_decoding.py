"""Replies of a batch, a token at a time: the likeliest or a drawn one, the best alternatives beside it; given texts scored.

What comes before the first token is `tasks.backends.local_models`. Imports torch: only what runs a model imports this module.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

Alternatives = list[tuple[int, float]]


class Wanted(NamedTuple):
    """How one reply is written: `most` tokens, the likeliest ones where `temperature` is 0; `rng` draws the others."""

    most: int
    n_top: int
    temperature: float
    top_p: float
    rng: np.random.Generator


@dataclass
class Written:
    """Token ids without the one that ended the reply, and the best (id, log-probability) at each place with the chosen one among them."""

    ids: list[int] = field(default_factory=list)
    top: list[Alternatives] = field(default_factory=list)
    finish_reason: str = "length"
    n_tokens: int = 0


class Continuing(Protocol):
    """A batch in the middle of its replies; `selects`: whether rows can be left out of it."""

    selects: bool

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits (rows, vocabulary) after these tokens, one a row."""

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows alone."""


class Stopped(Exception):  # noqa: N818  # nothing is wrong
    """The backend was closed in the middle of a batch."""


@torch.inference_mode()
def write_replies(
    logits: torch.Tensor, running: Continuing, wanted: Sequence[Wanted], ends: frozenset[int], is_stopping: Callable[[], bool]
) -> list[Written]:
    """A reply for each row, from the logits (rows, vocabulary) of its first token on; raises Stopped."""
    written = [Written() for _ in wanted]
    rows = list(range(len(wanted)))
    going = set(rows)
    while True:
        chosen, alternatives = choose_tokens(logits, [wanted[row] for row in rows])
        for place, row in enumerate(rows):
            if row in going and _take_token(written[row], chosen[place], alternatives[place], wanted[row], ends):
                going.discard(row)
        if not going:
            return written
        if is_stopping():
            raise Stopped
        kept = [place for place, row in enumerate(rows) if row in going]
        if running.selects and 2 * len(kept) <= len(rows):  # fewer would cost more copying than they save
            running.select(torch.tensor(kept, device=logits.device))
            rows, chosen = [rows[place] for place in kept], [chosen[place] for place in kept]
        logits = running.step(torch.tensor(chosen, device=logits.device))


def _take_token(written: Written, token: int, alternatives: Alternatives, wanted: Wanted, ends: frozenset[int]) -> bool:
    """Put a token to a reply; whether that ends it."""
    written.n_tokens += 1
    if token in ends:
        written.finish_reason = "stop"
        return True
    written.ids.append(token)
    if wanted.n_top:
        listed = alternatives[: wanted.n_top]
        written.top.append(listed if any(one == token for one, _ in listed) else [alternatives[-1], *listed])
    return len(written.ids) >= wanted.most


def choose_tokens(logits: torch.Tensor, wanted: Sequence[Wanted]) -> tuple[list[int], list[Alternatives]]:
    """The next token of each row, and its best alternatives with the chosen one last; the log-probabilities are of temperature 1."""
    scores = logits.float()
    chosen: list[int] = scores.argmax(-1).tolist()
    for place, one in enumerate(wanted):
        if one.temperature > 0:
            chosen[place] = draw_token(scores[place], one)
    n_top = max(one.n_top for one in wanted)
    if not n_top:
        return chosen, [[] for _ in wanted]
    logprobs = scores.log_softmax(-1)
    values, ids = (found.tolist() for found in logprobs.topk(min(n_top, logprobs.shape[-1])))
    own = logprobs.gather(1, torch.tensor(chosen, device=logits.device)[:, None])[:, 0].tolist()
    listed = [list(zip(*pair, strict=True)) for pair in zip(ids, values, strict=True)]
    return chosen, [[*best, (token, value)] for best, token, value in zip(listed, chosen, own, strict=True)]


def draw_token(scores: torch.Tensor, wanted: Wanted) -> int:
    """A token by its probability at the temperature, of the likeliest ones that hold `top_p` together (Holtzman et al. 2020)."""
    shares, ids = (scores.double() / wanted.temperature).softmax(-1).sort(descending=True)
    sums = shares.cumsum(0)
    nucleus = int((sums - shares < wanted.top_p).sum())
    place = torch.searchsorted(sums[:nucleus], float(wanted.rng.random()) * float(sums[nucleus - 1]), right=True)
    return int(ids[min(int(place), nucleus - 1)])


@torch.inference_mode()
def score_tokens(logits: torch.Tensor, tokens: Sequence[int]) -> list[float]:
    """Log-probability of each given token from the logits (tokens, vocabulary) before it."""
    logprobs = logits.float().log_softmax(-1)
    found: Any = logprobs.gather(1, torch.tensor(tokens, device=logits.device)[:, None])[:, 0].tolist()
    return [float(value) for value in found]
