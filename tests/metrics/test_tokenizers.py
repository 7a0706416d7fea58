"""Each named tokeniser gives what the package gives that its name comes from."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer
from sacrebleu.metrics.bleu import BLEU

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics import tokenizers
from judgelake.tasks.metrics.tokenizers import TOKENIZERS
from tests.metrics.questions import texts

MARKED = st.lists(
    st.sampled_from(
        [
            *"a1 .,-%$€«»،。।<>&'",
            "&amp;",
            "&quot;",
            "&lt;",
            "&gt;",
            "<skipped>",
            "-\n",
            "1,5",
            "5-6",
            "½",
            "٣",
            "Word",
        ]
    )
).map("".join)

SACREBLEU = ("13a", "intl", "char", "none")


def split(name: str, *strings: str) -> list[list[str]]:
    return TOKENIZERS[name](strings)


@pytest.mark.parametrize("name", SACREBLEU)
@given(text=MARKED | texts)
def test_equal_to_sacrebleu(name: str, text: str) -> None:
    # its BLEU trims a line's end before and splits at spaces after
    assert split(name, text) == [BLEU(tokenize=name).tokenizer(text.rstrip()).split()]


@given(text=MARKED | texts)
def test_equal_to_rouge_score(text: str) -> None:
    assert split("rouge", text) == [DefaultTokenizer().tokenize(text)]
    assert split("rouge_stem", text) == [DefaultTokenizer(use_stemmer=True).tokenize(text)]


def test_by_hand() -> None:
    text = "The dogs' 3.5-mile runs, &amp; more."
    assert split("13a", text, "") == [
        ["The", "dogs'", "3.5", "-", "mile", "runs", ",", "&", "more", "."],
        [],
    ]
    assert split("intl", "«Dogs» ran 3,5 €", "1990.") == [
        ["«", "Dogs", "»", "ran", "3,5", "€"],
        ["1990."],
    ]
    assert split("char", "a b", " ") == [["a", "b"], []]
    assert split("none", "a,  b", "") == [["a,", "b"], []]
    assert split("rouge", text, "") == [
        ["the", "dogs", "3", "5", "mile", "runs", "amp", "more"],
        [],
    ]
    assert split("rouge_stem", "running runs was dogs") == [
        ["run", "run", "was", "dog"]
    ]  # three letters are left as they are
    assert split("squad", "The cat, an owl & a dog!", "the") == [["cat", "owl", "dog"], []]
    assert split("ptb", "The cat's mat.") == [["the", "cat", "'s", "mat"]]


def test_the_stemmer_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.stem.porter", None)
    tokenizers._load_stemmer.cache_clear()
    with pytest.raises(
        MetricError, match=r"^rouge_stem: the package nltk is missing; .*; run `pip install nltk`$"
    ):
        split("rouge_stem", "dogs")
    assert split("rouge", "dogs") == [["dogs"]]
