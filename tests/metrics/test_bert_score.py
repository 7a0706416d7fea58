"""BERTScore beside the package bert-score on the same tiny models, and what it promises about
memory, shards and settings.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bert_score as package
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.typing import NDArray

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics import token_matching
from judgelake.tasks.metrics.bert_score import (
    BertScoreSettings,
    compute_bert_parts,
    compute_bert_score,
    count_documents,
    read_documents,
    signature,
)
from judgelake.tasks.metrics.local_models import load_tokenizer
from tests.metrics.models import save_bart, save_bert, save_roberta
from tests.metrics.questions import Question, question_lists

QUESTIONS: list[Question] = [
    ("a cat sat on the mat", ["the cat sits on a red mat", "a dog"]),
    ("the dog runs", ["dog runs on the beach", "the puppy sat", "dog runs on the beach"]),
    (" xyz 42! ", ["zyx", "a cat"]),
    ("two dogs, no puppy", ["no", "yes two puppy"]),
    ("", ["a cat", "the"]),
    ("cat", ["", " dog\n"]),
    ("no", ["   "]),
    ("one very long answer " * 20, ["one very long answer", "a cat " * 30]),
    ("שלום", ["👩‍👩‍👧", "مرحبا", "a cat", "a dog"]),
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, int]]:
    """Folder and layer of each model: all layers but one of the BERT, the first of the others."""
    folder = tmp_path_factory.mktemp("models")
    return {
        "bert": (save_bert(folder / "bert"), 2),
        "roberta": (save_roberta(folder / "roberta"), 1),
        "bart": (save_bart(folder / "bart"), 1),
    }


@pytest.fixture
def bert(models: dict[str, tuple[Path, int]]) -> BertScoreSettings:
    return BertScoreSettings(str(models["bert"][0]), layer=2)


def columns(questions: Sequence[Question]) -> tuple[pa.Array, pa.ListArray]:
    references = pa.array([references for _, references in questions], pa.list_(pa.string()))
    return pa.array([answer for answer, _ in questions], pa.string()), references


def run_package(
    monkeypatch: pytest.MonkeyPatch, model: Path, layer: int, idf: bool, **more: Any
) -> list[NDArray[np.float64]]:
    """The package, pair by pair (no padding), with the tokens that it had under transformers 4.

    Under transformers 5 it fails on empty texts and asks in vain for the space before RoBERTa's
    first word.
    """

    def encode(tokenizer: Any, text: str) -> list[int]:
        space = " " if "Roberta" in type(tokenizer).__name__ and text.strip() else ""
        ids: list[int] = tokenizer(space + text.strip(), truncation=True, max_length=40)[
            "input_ids"
        ]
        return ids

    monkeypatch.setattr(package.utils, "sent_encode", encode)
    answers, references = zip(*QUESTIONS, strict=True)
    options = {
        "model_type": str(model),
        "num_layers": layer,
        "device": "cpu",
        "batch_size": 1,
        **more,
    }
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of the package's own: pandas gives torch an array that it may not write to
        parts = package.score([*answers], [*references], idf=idf, nthreads=0, **options)
    return [part.double().numpy() for part in parts]


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("name", ["bert", "roberta", "bart"])
def test_equal_to_the_package(
    name: str, idf: bool, models: dict[str, tuple[Path, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, layer = models[name]
    chosen = BertScoreSettings(str(folder), layer=layer, idf=idf, batch_tokens=100)
    monkeypatch.setattr(
        "judgelake.tasks.metrics.bert_score.find_token_limit", lambda _tokenizer, _config: 40
    )
    answers, references = columns(QUESTIONS)
    documents = count_documents(references, chosen)
    ours = compute_bert_parts(answers, references, chosen, documents)
    for found, expected in zip(ours, run_package(monkeypatch, folder, layer, idf), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_rescaled_as_the_package_does(
    models: dict[str, tuple[Path, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "baseline.tsv"
    table.write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n1,0.2,0.2,0.2\n2,0.31,0.42,0.53\n")
    folder = models["bert"][0]
    expected = run_package(
        monkeypatch,
        folder,
        2,
        False,
        rescale_with_baseline=True,
        baseline_path=str(table),
        lang="en",
    )
    by_file = BertScoreSettings(str(folder), layer=2, baseline_file=table)
    by_hand = BertScoreSettings(str(folder), layer=2, baseline=(0.31, 0.42, 0.53))
    for chosen in (by_file, by_hand):
        for found, wanted in zip(
            compute_bert_parts(*columns(QUESTIONS), chosen), expected, strict=True
        ):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
    assert signature(by_file) == signature(by_hand)
    assert "baseline:0.31,0.42,0.53" in signature(by_hand)


def test_parts_by_hand(bert: BertScoreSettings) -> None:
    """The formula in plain numpy on the hidden states of the whole model."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(bert.model)
    model = transformers.AutoModel.from_pretrained(bert.model).eval()

    def embed(text: str) -> NDArray[np.float64]:
        hidden = model(
            **tokenizer(text, return_tensors="pt"), output_hidden_states=True
        ).hidden_states[2][0]
        vectors: NDArray[np.float64] = hidden.detach().numpy().astype(np.float64)
        scaled: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return scaled

    cosines = embed("a cat sat") @ embed("the cat sits on").T
    precision, recall = cosines.max(axis=1)[1:-1].mean(), cosines.max(axis=0)[1:-1].mean()
    found = np.array(compute_bert_parts(*columns([("a cat sat", ["the cat sits on"])]), bert))[:, 0]
    np.testing.assert_allclose(
        found, [precision, recall, 2 * precision * recall / (precision + recall)], rtol=0, atol=1e-6
    )


def test_the_highest_reference_counts_in_each_part(bert: BertScoreSettings) -> None:
    answer, references = QUESTIONS[3]
    alone = np.array(
        [compute_bert_parts(*columns([(answer, [reference])]), bert) for reference in references]
    )[:, :, 0]
    together = np.array(compute_bert_parts(*columns([(answer, references)]), bert))[:, 0]
    np.testing.assert_allclose(together, alone.max(axis=0), rtol=0, atol=1e-6)
    values = ("precision", "recall", "f1")
    for value, expected in zip(values, together, strict=True):
        chosen = BertScoreSettings(bert.model, layer=2, value=value)  # type: ignore[arg-type]
        scored = compute_bert_score(*columns([(answer, references)]), chosen)
        assert scored.scores == pytest.approx([expected], abs=1e-6)
        assert scored.statistics.shape == (1, 0)


def test_rows_without_answer_or_references_have_no_score(bert: BertScoreSettings) -> None:
    answers = pa.array(["cat", None, "cat", "cat"])
    references = pa.array([[], ["cat"], None, [None, "cat"]], pa.list_(pa.string()))
    scores = compute_bert_score(answers, references, bert).scores
    np.testing.assert_allclose(scores, [np.nan, np.nan, np.nan, 1.0], atol=1e-6)
    assert len(compute_bert_score(*columns([]), bert).scores) == 0


def test_each_distinct_string_is_encoded_once_whatever_the_memory(
    bert: BertScoreSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[list[int]] = []
    encode = token_matching.TokenEncoder.encode

    def watch(self: token_matching.TokenEncoder, texts: Any, ids: Any) -> Any:
        encoded.append(ids.tolist())
        return encode(self, texts, ids)

    monkeypatch.setattr(token_matching.TokenEncoder, "encode", watch)
    whole = compute_bert_score(*columns(QUESTIONS * 2), bert).scores
    texts = {text.strip() for answer, references in QUESTIONS for text in (answer, *references)}
    n_strings = len(texts - {"", "the"})  # `the` stands beside an empty answer alone
    assert [len(ids) for ids in encoded] == [n_strings]
    encoded.clear()
    vector_bytes = 16 * 4
    monkeypatch.setattr(token_matching, "BLOCK_BYTES", 60 * vector_bytes)
    blockwise = compute_bert_score(*columns(QUESTIONS * 2), bert).scores
    assert len(encoded) > 3
    assert len({one for ids in encoded for one in ids}) == sum(map(len, encoded)) == n_strings
    encoded.clear()
    monkeypatch.setattr(token_matching, "KEPT_BYTES", 0)
    monkeypatch.setattr(token_matching, "MATCH_BYTES", vector_bytes)
    bare = compute_bert_score(*columns(QUESTIONS * 2), bert).scores
    assert sum(map(len, encoded)) > n_strings
    for scores in (blockwise, bare):
        np.testing.assert_allclose(scores, whole, rtol=0, atol=1e-6)


def test_vectors_held_stay_within_their_room(
    bert: BertScoreSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    load = token_matching._HeldVectors.load

    def watch(self: Any, block: int, needed: Any, room: int) -> None:
        load(self, block, needed, room)
        sizes.append(len(self.vectors))
        assert len(self.vectors) <= self.texts.lengths[needed].sum() + room

    monkeypatch.setattr(token_matching._HeldVectors, "load", watch)
    monkeypatch.setattr(token_matching, "BLOCK_BYTES", 40 * 64)
    monkeypatch.setattr(token_matching, "KEPT_BYTES", 30 * 64)
    answers = [
        ("cat", [f"a dog {number}" for number in range(start, start + 5)])
        for start in range(0, 60, 5)
    ]
    compute_bert_score(*columns(answers), bert)
    assert len(sizes) > 5


def test_documents_are_counted_once_and_read_again(bert: BertScoreSettings, tmp_path: Path) -> None:
    _, references = columns(QUESTIONS)
    whole = count_documents(references, bert)
    parts = [
        count_documents(references[start : start + 4], bert)
        for start in range(0, len(references), 4)
    ]
    np.testing.assert_array_equal(
        sum((part.counts for part in parts), np.zeros_like(whole.counts)), whole.counts
    )
    (tmp_path / "documents").write_bytes(whole.to_bytes())
    read = read_documents(tmp_path / "documents")
    np.testing.assert_array_equal(read.counts, whole.counts)
    assert (
        read.n_documents == whole.n_documents == sum(len(references) for _, references in QUESTIONS)
    )


def test_documents_by_hand(bert: BertScoreSettings) -> None:
    _, references = columns([("", ["cat cat", "the cat", "the cat"]), ("", ["dog"])])
    counts, n_documents = count_documents(references, bert)
    vocabulary = load_tokenizer(bert).get_vocab()
    assert n_documents == 4
    found = {piece: int(counts[number]) for piece, number in vocabulary.items() if counts[number]}
    assert found == {"[CLS]": 4, "[SEP]": 4, "cat": 3, "the": 2, "dog": 1}


def test_idf_without_documents_is_refused(bert: BertScoreSettings) -> None:
    with pytest.raises(MetricError, match="idf needs document frequencies"):
        compute_bert_score(*columns(QUESTIONS), BertScoreSettings(bert.model, layer=2, idf=True))


def test_where_no_token_weighs_anything_f1_is_0_as_in_the_package(bert: BertScoreSettings) -> None:
    """One document: log((1 + 1) / (1 + 1)) = 0 for all its tokens, so that its recall is
    undefined.
    """
    chosen = BertScoreSettings(bert.model, layer=2, idf=True)
    answers, references = columns([("a dog", ["the cat"])])
    precision, recall, f1 = compute_bert_parts(
        answers, references, chosen, count_documents(references, chosen)
    )
    assert (np.isfinite(precision[0]), np.isnan(recall[0]), f1[0]) == (True, True, 0)


def test_everything_that_changes_the_number_is_in_the_signature(
    bert: BertScoreSettings, models: dict[str, Any]
) -> None:
    folder = bert.model
    same = BertScoreSettings(folder, layer=2, device="cpu", batch_tokens=5)
    assert signature(bert) == signature(same)
    others = [
        signature(BertScoreSettings(folder, layer=1)),
        signature(BertScoreSettings(folder, layer=2, dtype="bfloat16")),
        signature(BertScoreSettings(folder, layer=2, value="recall")),
        signature(BertScoreSettings(folder, layer=2, baseline=(0.1, 0.1, 0.1))),
        signature(BertScoreSettings(folder, layer=2, idf=True), "one"),
        signature(BertScoreSettings(folder, layer=2, idf=True), "two"),
        signature(BertScoreSettings(str(models["roberta"][0]), layer=2)),
        signature(BertScoreSettings("roberta-large")),
        signature(BertScoreSettings("roberta-large", revision="abc")),
    ]
    assert len({signature(bert), *others}) == len(others) + 1
    assert "roberta-large|revision:main|dtype:float32" in others[-2]
    assert "|layer:17|" in others[-2]


def test_half_precision_comes_near(bert: BertScoreSettings) -> None:
    half = compute_bert_score(
        *columns(QUESTIONS), BertScoreSettings(bert.model, layer=2, dtype="bfloat16")
    ).scores
    whole = compute_bert_score(*columns(QUESTIONS), bert).scores
    np.testing.assert_allclose(half, whole, atol=0.05)
    assert (half != whole).any()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"model": "my/model"}, "layer: none is given for my/model"),
        ({"layer": -1}, "layer: -1; expected a whole number from 0"),
        ({"value": "f2"}, "value\n  Input should be 'precision', 'recall' or 'f1'"),
        ({"baseline": (0.1, 0.2)}, r"baseline: \(0.1, 0.2\); expected three numbers"),
        ({"baseline": (0.1, 0.2, 1.0)}, "baseline: .* below 1"),
        (
            {"baseline": (0.1, 0.2, 0.3), "baseline_file": Path("x")},
            "baseline_file: stands beside baseline",
        ),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        BertScoreSettings(**options)


def test_layer_beyond_the_last_is_refused(bert: BertScoreSettings) -> None:
    with pytest.raises(MetricError, match="layer 4; expected at most 3, the layers it has"):
        compute_bert_score(*columns(QUESTIONS), BertScoreSettings(bert.model, layer=4))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "LAYER,P,R,F\n1,0.1,0.1,0.1\n",
        "LAYER,P,R,F\n2,x,0.1,0.1\n",
        "LAYER,P,R,F\n2,0.1,0.1,1\n",
    ],
)
def test_baseline_file_without_the_layer_is_refused(
    bert: BertScoreSettings, tmp_path: Path, text: str
) -> None:
    (tmp_path / "table.tsv").write_text(text)
    with pytest.raises(MetricError, match=r"table\.tsv: .*expected lines of LAYER,P,R,F"):
        signature(BertScoreSettings(bert.model, layer=2, baseline_file=tmp_path / "table.tsv"))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(questions=question_lists)
def test_any_text_has_a_score_that_does_not_depend_on_its_neighbours(
    questions: list[Question], bert: BertScoreSettings
) -> None:
    scores = compute_bert_score(*columns(questions), bert).scores
    assert np.isnan(scores).tolist() == [not references for _, references in questions]
    assert (np.abs(scores[~np.isnan(scores)]) <= 1 + 1e-6).all()
    alone = [compute_bert_score(*columns([question]), bert).scores[0] for question in questions]
    np.testing.assert_allclose(scores, alone, rtol=0, atol=2e-6)
