"""What holds for every text metric: no input raises, scores stay in range, order of references and
sharding do not matter.
"""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.metrics.metric import Scores
from judgelake.tasks.metrics.settings import name_metric
from tests.metrics.questions import Question, question_lists, run_metric

TEXT_METRICS = ["vqa_accuracy", "vqa_accuracy_raw", "exact_match", "token_f1", "soft_vqa_accuracy"]
every_text_metric = pytest.mark.parametrize("name", TEXT_METRICS)
and_bleu = pytest.mark.parametrize("name", [*TEXT_METRICS, "sacrebleu"])


def score(name: str, questions: list[Question]) -> Scores:
    return run_metric(name_metric(name).resolve(), questions).scores


@and_bleu
@given(questions=question_lists)
def test_scores_are_in_range_and_undefined_only_without_references(
    name: str, questions: list[Question]
) -> None:
    scores = score(name, questions)
    assert scores.dtype == np.float64
    assert np.isnan(scores).tolist() == [not references for _, references in questions]
    defined = scores[~np.isnan(scores)]
    assert ((defined >= 0) & (defined <= 1 + 1e-12)).all()


@and_bleu
@given(questions=question_lists, cut=st.integers(0, 8))
def test_shards_merge_to_the_whole(name: str, questions: list[Question], cut: int) -> None:
    parts = np.concatenate([score(name, questions[:cut]), score(name, questions[cut:])])
    np.testing.assert_array_equal(parts, score(name, questions))


@every_text_metric
@given(questions=question_lists, randomness=st.randoms(use_true_random=False))
def test_order_of_references_does_not_matter(
    name: str, questions: list[Question], randomness: Random
) -> None:
    shuffled = [
        (answer, randomness.sample(references, len(references))) for answer, references in questions
    ]
    np.testing.assert_array_equal(score(name, shuffled), score(name, questions))


@every_text_metric
def test_an_answer_equal_to_all_of_many_references_scores_one(name: str) -> None:
    questions = [(text, [text] * 5) for text in ("", "cat", "👩‍👩‍👧", "שלום עולם", "the")]
    assert score(name, questions).tolist() == [1.0] * 5
