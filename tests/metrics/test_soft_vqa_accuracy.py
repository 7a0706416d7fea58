import math

import pytest
from hypothesis import given

from judgelake.tasks.metrics.vqa_accuracy import compute_soft_vqa_accuracy
from tests.metrics.questions import Question, question_lists, score


@pytest.mark.parametrize(
    ("answer", "references", "expected"),
    [
        ("cat", ["cat"], 1.0),
        ("cat", ["cart"], 0.75),  # one insertion, four characters
        (
            "cat",
            ["cats", "cat", "dog", "cut", "cat"],
            (1 + 1 + 0.75) / 3,
        ),  # the best three of .75 1 0 2/3 1
        (
            "kitten",
            ["sitting", "mitten"],
            (4 / 7 + 5 / 6) / 2,
        ),  # distances 3 and 1; only two references
        ("a long answer", ["no"], 0.0),  # CER above 1
        ("", [""], 1.0),
        ("x", [""], 0.0),
        ("", ["x", ""], 0.5),
        ("👍", ["👍👍"], 0.5),  # characters, not bytes
        ("Cat", ["cat"], 2 / 3),  # strings as they are
        ("cat", [], math.nan),
    ],
)
def test_hand_arithmetic(answer: str, references: list[str], expected: float) -> None:
    assert score(compute_soft_vqa_accuracy, [(answer, references)]) == pytest.approx(
        [expected], nan_ok=True
    )


@given(question_lists)
def test_equals_the_textbook_distance(questions: list[Question]) -> None:
    expected = [score_plainly(answer, references) for answer, references in questions]
    assert score(compute_soft_vqa_accuracy, questions) == pytest.approx(
        expected, abs=1e-12, nan_ok=True
    )


def score_plainly(answer: str, references: list[str]) -> float:
    rates = [
        count_edits(answer, text) / len(text) if text else float(bool(answer))
        for text in references
    ]
    best = sorted((max(0.0, 1 - rate) for rate in rates), reverse=True)[:3]
    return sum(best) / len(best) if best else math.nan


def count_edits(source: str, target: str) -> int:
    row = list(range(len(target) + 1))
    for i, letter in enumerate(source, start=1):
        previous, row = row, [i]
        for j, other in enumerate(target, start=1):
            row.append(min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (letter != other)))
    return row[-1]
