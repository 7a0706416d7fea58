import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics.vqa_accuracy import compute_vqa_accuracy, compute_vqa_accuracy_raw
from tests.metrics.questions import Question, question_lists, score
from tests.oracle.official_vqa_eval import evaluate_question, evaluate_raw


@given(question_lists)
def test_every_question_equals_the_official_evaluation(questions: list[Question]) -> None:
    several = [(answer, references) for answer, references in questions if len(references) > 1]
    assert score(compute_vqa_accuracy, several) == pytest.approx(
        [evaluate_question(*q) for q in several], abs=1e-12
    )
    assert score(compute_vqa_accuracy_raw, several) == pytest.approx(
        [evaluate_raw(*q) for q in several], abs=1e-12
    )


@pytest.mark.parametrize(
    ("matches", "expected"),
    [
        (0, 0.0),
        (1, 0.3),  # 9 annotators see one match: 9/10 * 1/3
        (2, 0.6),  # 2 see one match, 8 see two: (2 * 1/3 + 8 * 2/3) / 10
        (3, 0.9),  # 3 see two matches, 7 see three: (3 * 2/3 + 7) / 10
        (4, 1.0),
        (10, 1.0),
    ],
)
def test_ten_annotators(matches: int, expected: float) -> None:
    question = ("cat", ["cat"] * matches + ["dog"] * (10 - matches))
    assert score(compute_vqa_accuracy, [question]) == pytest.approx([expected])
    assert score(compute_vqa_accuracy_raw, [question]) == pytest.approx([expected])


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        ([], math.nan),
        (["cat"], 1.0),  # nobody is left: the match itself
        (["The cat!"], 1.0),
        (["dog"], 0.0),
        (["cat", "cat"], 1 / 3),  # as officially: each left-out annotator leaves one match
        (["cat", "dog"], 1 / 6),  # only the one who said dog sees a match
        (["cat"] * 3, 2 / 3),
        (["cat"] * 4, 1.0),
    ],
)
def test_few_annotators(references: list[str], expected: float) -> None:
    assert score(compute_vqa_accuracy, [("cat", references)]) == pytest.approx(
        [expected], nan_ok=True
    )


def test_unanimous_references_are_compared_without_the_normaliser() -> None:
    questions = [("yes", ["Yes"] * 10), ("yes", ["Yes"] * 9 + ["no"]), ("Yes\n", ["\tYes"] * 10)]
    assert score(compute_vqa_accuracy, questions).tolist() == [0.0, 1.0, 1.0]


def test_raw_strings_are_left_alone() -> None:
    assert score(compute_vqa_accuracy_raw, [("cat", ["cat "] * 5 + ["Cat"] * 5)]).tolist() == [0.0]


def test_nulls_are_missing_not_wrong() -> None:
    answers = pa.array(["cat", None, "cat", "cat"])
    references = pa.array([["cat"] * 4, ["cat"] * 4, None, ["cat", None, "cat", "cat", "cat"]])
    np.testing.assert_array_equal(
        compute_vqa_accuracy(answers, references), [1.0, np.nan, np.nan, 1.0]
    )


def test_slices_and_large_types_score_alike() -> None:
    answers = pa.array(["x", "cat", "dog"], pa.large_string())
    references = pa.array([["x"], ["cat"] * 4, ["cat"] * 4], pa.large_list(pa.string_view()))
    assert compute_vqa_accuracy(answers[1:], references[1:]).tolist() == [1.0, 0.0]


def test_unequal_columns_are_refused() -> None:
    with pytest.raises(MetricError, match="2 answers and 1 reference lists"):
        compute_vqa_accuracy(pa.array(["a", "b"]), pa.array([["a"]]))
