"""Judges driven by hand: a case, the requests they make, the replies a test gives them, the
verdicts they return.
"""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from judgelake.tasks.types import JUDGE, Case, Failure, Judge, Reply, Request, Verdict

MODEL = "openai/gpt-4o-mini-2024-07-18"
MODELS = {JUDGE: MODEL}


def make_case(
    answer: str = "a cat", references: tuple[str, ...] = ("kitten", "cat", "cat"), **more: Any
) -> Case:
    return Case(
        "b",
        "i1",
        more.pop("task", "vqa"),
        more.pop("prompt", "What is it?"),
        references,
        answer,
        "d" * 16,
        **more,
    )


def ask(judge: Judge) -> list[Request]:
    """What a judge asks first."""
    return next(judge)


def conclude(judge: Judge, *replies: Reply | Failure | str) -> Verdict:
    """The one verdict of a judge that asks once for each of `replies` (none: it asks nothing)."""
    given = [reply if isinstance(reply, Reply | Failure) else Reply(reply) for reply in replies]
    if given:
        assert len(next(judge)) == len(given)
    with pytest.raises(StopIteration) as end:
        judge.send(given) if given else next(judge)
    (verdict,) = end.value.value
    assert isinstance(verdict, Verdict)
    return verdict


def scored(text: str, tokens: list[str], at: int, probabilities: dict[str, float]) -> Reply:
    """A reply of `tokens`, each certain but that at `at`, whose alternatives have the given
    probabilities.
    """
    positions = [((token, math.log(0.999)), ("x", math.log(0.001))) for token in tokens]
    alternatives = tuple((token, math.log(share)) for token, share in probabilities.items())
    return Reply(text, top_logprobs=(*positions[:at], alternatives, *positions[at + 1 :]))


def shared_beginning(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    first, last = min(texts), max(texts)
    n = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:n]
