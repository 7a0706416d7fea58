"""METEOR: its formula by hand, the questions it is asked, and scores to the printed digit as
pycocoevalcap gives them.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pycocoevalcap.meteor.meteor import Meteor

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics import java
from judgelake.tasks.metrics.java import LineProgram
from judgelake.tasks.metrics.meteor import PURPOSE, STATISTICS, compute_meteor, corpus_meteor
from judgelake.tasks.metrics.metric import Scored
from judgelake.tasks.metrics.ptb_tokenizer import tokenise_ptb
from judgelake.tasks.metrics.tokenizers import tokenise_spaces
from judgelake.tasks.metrics.tokens import tokenise_rows
from tests.metrics.captions import CAPTIONS, to_coco
from tests.metrics.programs import check_end_after_kill, install_script, needs_java

RECORDER = """
while read -r line; do
  case "$line" in "SING ||| 0.0 "*) echo 0.0; continue ;; esac
  echo "$line" >> "$JAVA_HOME/asked"
  case "$line" in
    SING*) echo 0.5 ;;
    *) echo "2.0 4.0 1.0 2.0 1.0 1.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 1.0 1.0 1.0" ;;
  esac
done
"""
"""A scorer that writes down what it is asked."""


Row = tuple[str | None, Sequence[str | None] | None]


def score(captions: Sequence[Row]) -> Scored:
    answers = pa.array([answer for answer, _ in captions], pa.string())
    references = pa.array([references for _, references in captions], pa.list_(pa.string()))
    return compute_meteor(tokenise_rows(answers, references, tokenise_spaces))


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, LineProgram]]:
    kept: dict[str, LineProgram] = {}
    monkeypatch.setattr(java, "_programs", kept)
    yield kept
    for program in kept.values():
        program.close()


@pytest.fixture
def recorder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: dict[str, LineProgram]
) -> Path:
    install_script(tmp_path, RECORDER)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return tmp_path / "asked"


@pytest.fixture(scope="module")
def scorer() -> Iterator[None]:
    """The Java scorer takes ten seconds to start, so these tests share one; it ends with them."""
    yield
    if PURPOSE in java._programs:
        java._programs.pop(PURPOSE).close()


@pytest.fixture
def peer() -> Iterator[Meteor]:
    meteor = Meteor()
    yield meteor
    for stream in (meteor.meteor_p.stdout, meteor.meteor_p.stderr):
        stream.close()


def test_the_formula_by_hand() -> None:
    # answer: 7 words, 4 of them function words; reference: 17 and 9. Two function words match
    # exactly, one content word by paraphrase,
    # in two chunks. Weighted lengths 0.75*3 + 0.25*4 = 3.25 and 0.75*8 + 0.25*9 = 8.25; matches
    # 2*1.0*0.25 + 1*0.6*0.75 = 0.95;
    # P = 0.292308, R = 0.115152, F = 1 / (0.15 / P + 0.85 / R) = 0.126667; penalty 0.6 * (2/3) **
    # 0.2 = 0.553265.
    row = dict.fromkeys(STATISTICS, 0.0) | {"answer_length": 7, "reference_length": 17, "chunks": 2}
    row |= {
        "answer_function_words": 4,
        "reference_function_words": 9,
        "answer_matches": 3,
        "reference_matches": 3,
    }
    row |= {"exact_answer_function_matches": 2, "exact_reference_function_matches": 2}
    row |= {"paraphrase_answer_content_matches": 1, "paraphrase_reference_content_matches": 1}
    sums = np.array(list(row.values()))
    assert corpus_meteor(sums) == pytest.approx(0.126667 * (1 - 0.553265), abs=1e-6)
    resampled = np.stack([np.stack([sums, sums * 5]), np.zeros((2, len(STATISTICS)))])
    one = float(corpus_meteor(sums))
    assert corpus_meteor(resampled).tolist() == [pytest.approx([one, one], rel=1e-14), [0, 0]]


def test_a_question_is_asked_once(recorder: Path) -> None:
    captions: list[Row] = [
        ("a dog", ["a dog", "two dogs", "a dog"]),
        ("a cat", ["a |||cat", "x |||"]),
        ("a dog", ["a dog", None, "two dogs"]),
        (None, ["a dog"]),
        ("a dog", []),
        ("a dog", None),
        ("a ||| dog", ["", "é"]),
    ]
    found = score(captions)
    assert recorder.read_text().splitlines() == [
        "SCORE ||| a dog ||| two dogs ||| a dog",
        "SCORE ||| a cat ||| x  ||| a cat",
        "SCORE |||  ||| é ||| a dog",
        "SING ||| 2.0 4.0 1.0 2.0 1.0 1.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 "
        "0.0 1.0 1.0 1.0",
    ]
    assert found.scores == pytest.approx([0.5, 0.5, 0.5, np.nan, np.nan, np.nan, 0.5], nan_ok=True)
    assert found.statistics[:, 0].tolist() == [2, 2, 2, 0, 0, 0, 2]


def test_no_defined_row_asks_nothing(recorder: Path) -> None:
    found = score([(None, ["a"]), ("a", [None])])
    assert np.isnan(found.scores).all()
    assert found.statistics.shape == (2, len(STATISTICS))
    assert not recorder.exists()


def test_an_unexpected_answer_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: dict[str, LineProgram]
) -> None:
    install_script(
        tmp_path, "read -r line; echo 0.0; while read -r line; do echo 'Error: specify SCORE'; done"
    )
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(
        MetricError,
        match=r"^METEOR: meteor/meteor-1.5.jar answered 'Error: specify SCORE' .* to 'SCORE "
        r"\|\|\| b",
    ):
        score([("a", ["b"])])


@needs_java
@pytest.mark.full
def test_scores_by_hand(scorer: None) -> None:
    # "the cat sat" of "the cat sat on the mat": all three words match in one chunk, `the` and `on`
    # are function words.
    # Weighted lengths 2*0.75 + 1*0.25 = 1.75 and 3*0.75 + 3*0.25 = 3; P = 1, R = 1.75/3, F = 1 /
    # (0.15 + 0.85 / R) = 0.622222;
    # penalty 0.6 * (1/3) ** 0.2 = 0.481645.
    captions: list[Row] = [
        ("the cat sat", ["a bird", "the cat sat on the mat"]),
        ("a dog", ["a dog"]),
        ("", ["a dog"]),
        ("a", [""]),
    ]
    found = score([*captions, ("a dog runs", ["a dog run"])])
    assert found.scores[:4] == pytest.approx([0.622222 * (1 - 0.481645), 1, 0, 0], abs=1e-6)
    assert 0.5 < found.scores[4] < 1
    columns = dict(zip(STATISTICS, found.statistics.T, strict=True))
    assert columns["chunks"].tolist() == [
        1,
        0,
        0,
        0,
        0,
    ]  # where all words match in a row, there is no fragment
    assert columns["stem_answer_content_matches"].tolist() == [0, 0, 0, 0, 1]
    assert corpus_meteor(found.statistics[:4]) == pytest.approx(found.scores[:4], rel=1e-14)


@needs_java
@pytest.mark.full
def test_equal_to_pycocoevalcap(scorer: None, peer: Meteor) -> None:
    expected, each = peer.compute_score(*to_coco(CAPTIONS))
    found = score(CAPTIONS)
    assert found.scores.tolist() == each
    assert corpus_meteor(found.statistics.sum(axis=0)) == pytest.approx(expected, rel=1e-12)


@needs_java
@pytest.mark.full
@pytest.mark.data
def test_equal_to_pycocoevalcap_on_captions(data_folder: Path, scorer: None, peer: Meteor) -> None:
    lines = (
        (data_folder / "flickr8k" / "Flickr8k.token.txt").read_text("utf-8").splitlines()[:2_000]
    )
    captions = [line.split("\t")[1] for line in lines]
    rng = random.Random(0)
    references = [captions[start : start + 5] for start in range(0, len(captions), 5)]
    answers = [rng.choice([rng.choice(captions), rng.choice(own)]) for own in references]
    found = compute_meteor(tokenise_rows(pa.array(answers), pa.array(references), tokenise_ptb))
    joined = [
        [" ".join(tokens) for tokens in tokenise_ptb(texts)] for texts in [answers, *references]
    ]
    expected, each = peer.compute_score(
        dict(enumerate(joined[1:])), {place: [text] for place, text in enumerate(joined[0])}
    )
    assert found.scores.tolist() == each
    assert corpus_meteor(found.statistics.sum(axis=0)) == pytest.approx(expected, rel=1e-12)


@needs_java
@pytest.mark.full
def test_java_ends_with_a_killed_python() -> None:
    imports = "import pyarrow as pa; from judgelake.tasks.metrics import meteor, tokenizers, tokens"
    rows = "tokens.tokenise_rows(pa.array(['a']), pa.array([['a']]), tokenizers.tokenise_spaces)"
    check_end_after_kill(f"{imports}; meteor.compute_meteor({rows})")
