"""Token F1 by hand, and against a plain implementation of SQuAD 2.0's rule."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given

from judgelake.tasks.metrics import exact_match
from judgelake.tasks.metrics.exact_match import compute_token_f1
from judgelake.tasks.metrics.tokenizers import normalise_squad
from tests.metrics.questions import Question, question_lists, score


def plain_f1(answer: str, references: list[str]) -> float:
    """The best reference, one Counter a pair."""

    def compare(reference: str) -> float:
        a, r = normalise_squad(answer).split(), normalise_squad(reference).split()
        common = sum((Counter(a) & Counter(r)).values())
        return 2 * common / (len(a) + len(r)) if a and r else float(a == r)

    return max(map(compare, references), default=math.nan)


def test_by_hand() -> None:
    questions = [
        ("the black cat", ["a cat", "dog"]),  # {black, cat} and {cat}: 2 * 1 / 3
        (
            "no no",
            ["no no no yes", "no"],
        ),  # twice `no` in common: 2 * 2 / 6; the other reference gives 2 * 1 / 3 as well
        ("!", ["the", "cat"]),  # neither has a word
        ("!", ["cat"]),
        ("cat", []),
    ]
    assert score(compute_token_f1, questions) == pytest.approx(
        [2 / 3, 2 / 3, 1.0, 0.0, math.nan], nan_ok=True
    )


@given(questions=question_lists)
def test_as_the_plain_rule(questions: list[Question]) -> None:
    expected = [plain_f1(answer, references) for answer, references in questions]
    np.testing.assert_allclose(score(compute_token_f1, questions), expected, rtol=1e-15)


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [
        (f"red {k} cat cat", [f"red {j} cat", f"cat {k} {j}"]) for k in range(5) for j in range(5)
    ]
    whole = score(compute_token_f1, questions)
    monkeypatch.setattr(exact_match, "PAIRS_PER_CHUNK", 3)
    np.testing.assert_array_equal(score(compute_token_f1, questions), whole)
