"""BARTScore beside the plain formula, pair by pair, on a tiny BART."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings

from judgelake.tasks.metrics import bart_score
from judgelake.tasks.metrics.bart_score import BartScoreSettings, compute_bart_score, signature
from tests.metrics.models import save_bart
from tests.metrics.questions import Question, question_lists

QUESTIONS: list[Question] = [
    ("a cat sat on the mat", ["the cat sits on a red mat", "a dog"]),
    ("the dog runs", ["dog runs on the beach", "the puppy sat", "dog runs on the beach"]),
    ("xyz 42!", ["zyx", "a cat"]),
    ("", ["a", ""]),
    ("cat", ["a cat " * 40]),
    ("שלום", ["👩‍👩‍👧", "مرحبا", "a cat"]),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bart(tmp_path_factory.mktemp("bart"))


@pytest.fixture(scope="module")
def log_likelihood(folder: Path) -> Callable[[str, str], float]:
    """Mean over the target's tokens (first and last special ones too) of log p(token | source,
    tokens before it).
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model: Any = transformers.BartForConditionalGeneration.from_pretrained(folder)
    model = model.eval().double()

    def compute(source: str, target: str) -> float:
        read = tokenizer(source, return_tensors="pt", truncation=True, max_length=48)
        (tokens,) = tokenizer(target, return_tensors="pt", truncation=True, max_length=48).input_ids
        before = torch.cat([torch.tensor([model.config.decoder_start_token_id]), tokens[:-1]])
        with torch.no_grad():
            logits = model(**read, decoder_input_ids=before[None]).logits[0]
        return float(torch.log_softmax(logits, dim=1)[range(len(tokens)), tokens].mean())

    return compute


def columns(questions: Sequence[Question]) -> tuple[pa.Array, pa.ListArray]:
    references = pa.array([references for _, references in questions], pa.list_(pa.string()))
    return pa.array([answer for answer, _ in questions], pa.string()), references


@pytest.mark.parametrize("batch_tokens", [8192, 60, 1])
@pytest.mark.parametrize("references", ["mean", "max"])
@pytest.mark.parametrize("direction", ["precision", "recall", "f"])
def test_equal_to_the_formula(
    direction: Any,
    references: Any,
    batch_tokens: int,
    folder: Path,
    log_likelihood: Callable[[str, str], float],
) -> None:
    chosen = BartScoreSettings(
        str(folder), direction=direction, references=references, batch_tokens=batch_tokens
    )
    scorers: dict[str, Callable[[str, str], float]] = {
        "precision": lambda answer, reference: log_likelihood(reference, answer),
        "recall": log_likelihood,
        "f": lambda answer, reference: (
            (log_likelihood(reference, answer) + log_likelihood(answer, reference)) / 2
        ),
    }
    combine: Any = {"mean": np.mean, "max": np.max}[references]
    expected = [
        combine([scorers[direction](answer, reference) for reference in given])
        for answer, given in QUESTIONS
    ]
    scored = compute_bart_score(*columns(QUESTIONS), chosen)
    np.testing.assert_allclose(scored.scores, expected, rtol=0, atol=1e-5)
    assert (scored.scores < 0).all()
    assert scored.statistics.shape == (len(QUESTIONS), 0)


def test_few_logits_at_once_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compute_bart_score(*columns(QUESTIONS), BartScoreSettings(str(folder))).scores
    monkeypatch.setattr(bart_score, "LOGIT_BYTES", 1)
    few = compute_bart_score(*columns(QUESTIONS), BartScoreSettings(str(folder))).scores
    np.testing.assert_allclose(few, whole, rtol=0, atol=1e-5)


def test_equal_pairs_and_equal_sources_are_computed_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs: list[int] = []
    encoded: list[int] = []
    score = bart_score._score_batch

    def watch(model: Any, texts: Any, source: Any, target: Any, padding: int) -> Any:
        pairs.append(len(source))
        encoded.append(len(set(source.tolist())))
        return score(model, texts, source, target, padding)

    monkeypatch.setattr(bart_score, "_score_batch", watch)
    compute_bart_score(*columns(QUESTIONS * 3), BartScoreSettings(str(folder), direction="recall"))
    assert sum(pairs) == 12  # 13 pairs, one of them twice
    assert encoded == [6]


def test_rows_without_answer_or_references_have_no_score(folder: Path) -> None:
    answers = pa.array(["cat", None, "cat", "cat"])
    references = pa.array([[], ["cat"], None, [None, "cat"]], pa.list_(pa.string()))
    scores = compute_bart_score(answers, references, BartScoreSettings(str(folder))).scores
    assert np.isnan(scores).tolist() == [True, True, True, False]
    assert len(compute_bart_score(*columns([]), BartScoreSettings(str(folder))).scores) == 0


def test_everything_that_changes_the_number_is_in_the_signature(folder: Path) -> None:
    options: list[dict[str, Any]] = [
        {},
        {"direction": "recall"},
        {"references": "max"},
        {"dtype": "float16"},
    ]
    signatures = {signature(BartScoreSettings(str(folder), **one)) for one in options}
    assert len(signatures) == len(options)
    assert signature(BartScoreSettings(str(folder), batch_tokens=3, device="cpu")) in signatures
    assert signature(BartScoreSettings()).startswith(
        "bart_score|model:facebook/bart-large-cnn|revision:main|dtype:float32|"
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"direction": "back"}, "direction\n  Input should be 'precision', 'recall' or 'f'"),
        ({"references": "min"}, "references\n  Input should be 'mean' or 'max'"),
        ({"model": " "}, "model: ' '; expected a model's hub id or its folder"),
        ({"dtype": "int8"}, "dtype\n  Input should be 'float32', 'bfloat16' or 'float16'"),
        ({"device": "tpu"}, "device\n  Input should be 'auto', 'cpu' or 'cuda'"),
        ({"batch_tokens": 0}, "batch_tokens: 0; expected a whole number from 1"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        BartScoreSettings(**options)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(questions=question_lists)
def test_any_text_has_a_score_that_does_not_depend_on_its_neighbours(
    questions: list[Question], folder: Path
) -> None:
    chosen = BartScoreSettings(str(folder))
    scores = compute_bart_score(*columns(questions), chosen).scores
    assert np.isnan(scores).tolist() == [not references for _, references in questions]
    alone = [compute_bart_score(*columns([question]), chosen).scores[0] for question in questions]
    np.testing.assert_allclose(scores, alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("batch_tokens", "target_tokens", "batches"),
    [
        (100, 100, [[0, 1, 2, 3]]),
        (28, 100, [[0, 1], [2, 3]]),  # two sources of 10 and targets of 4 are 28
        (27, 100, [[0], [1, 2], [3]]),
        (100, 8, [[0, 1], [2, 3]]),  # two targets of 4 are 8
        (100, 7, [[0], [1, 2], [3]]),
        (1, 1, [[0], [1], [2], [3]]),  # a pair that is too long alone
    ],
)
def test_batches_hold_what_they_may(
    batch_tokens: int, target_tokens: int, batches: list[list[int]]
) -> None:
    lengths = np.array([10, 10, 4, 3, 3, 2])
    source, target = np.array([0, 0, 1, 2]), np.array([2, 3, 4, 5])
    found = bart_score._batch_pairs(lengths, source, target, batch_tokens, target_tokens)
    assert [batch.tolist() for batch in found] == batches
