"""What holds for every text metric: no input raises, scores stay in range, order of references and sharding do not matter."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.metrics.registry import METRICS, resolve_metric
from tests.metrics.questions import Question, question_lists, score

TEXT_METRICS = [name for name in METRICS if name != "sbert_score"]
every_text_metric = pytest.mark.parametrize("name", TEXT_METRICS)


@every_text_metric
@given(questions=question_lists)
def test_scores_are_in_range_and_undefined_only_without_references(name: str, questions: list[Question]) -> None:
    scores = score(resolve_metric(name).compute, questions)
    assert scores.dtype == np.float64
    assert np.isnan(scores).tolist() == [not references for _, references in questions]
    defined = scores[~np.isnan(scores)]
    assert ((defined >= 0) & (defined <= 1)).all()


@every_text_metric
@given(questions=question_lists, cut=st.integers(0, 8))
def test_shards_merge_to_the_whole(name: str, questions: list[Question], cut: int) -> None:
    compute = resolve_metric(name).compute
    parts = np.concatenate([score(compute, questions[:cut]), score(compute, questions[cut:])])
    np.testing.assert_array_equal(parts, score(compute, questions))


@every_text_metric
@given(questions=question_lists, randomness=st.randoms(use_true_random=False))
def test_order_of_references_does_not_matter(name: str, questions: list[Question], randomness: Random) -> None:
    shuffled = [(answer, randomness.sample(references, len(references))) for answer, references in questions]
    compute = resolve_metric(name).compute
    np.testing.assert_array_equal(score(compute, shuffled), score(compute, questions))


@every_text_metric
def test_an_answer_equal_to_all_of_many_references_scores_one(name: str) -> None:
    questions = [(text, [text] * 5) for text in ("", "cat", "👩‍👩‍👧", "שלום עולם", "the")]
    assert score(resolve_metric(name).compute, questions).tolist() == [1.0] * 5
