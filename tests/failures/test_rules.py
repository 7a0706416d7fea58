"""LAVE's failure categories by rule: the examples of its Table 1 and their opposites, and WordNet
through nltk on a small one.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.failures.rules import label_answer, name_rules
from judgelake.tasks.failures.wordnet import WordNet, load_wordnet
from tests.wordnets import write_wordnet

SENSES = {
    "field": {"field.1", "subject.1"}, "plains": {"field.1"}, "wii": {"wii.1"}, "video games": {"game.1"}, "carrots": {"carrot.1"},
    "vegetables": {"vegetable.1"}, "gray": {"grey.1"}, "grey": {"grey.1"}, "movie": {"film.1"}, "film": {"film.1", "film.2"},
}  # fmt: skip
ABOVE = {
    "wii.1": {"game.1", "activity.1"},
    "carrot.1": {"root.1", "vegetable.1"},
    "film.2": {"film.1"},
}


class SmallWordNet:
    version = "small"

    def find_senses(self, phrase: str) -> frozenset[str]:
        return frozenset(SENSES.get(phrase, ()))

    def find_ancestors(self, sense: str) -> frozenset[str]:
        return frozenset(ABOVE.get(sense, ()))


def held(answer: str, *references: str, wordnet: WordNet | None = None) -> set[str]:
    return {
        category for category, holds in label_answer(answer, references, wordnet).items() if holds
    }


# Table 1's examples, candidate and reference in both directions.
@pytest.mark.parametrize(
    ("one", "other", "category"),
    [
        ("playing video games", "playing video game", "same_stem"),
        ("blue and white", "white and blue", "same_stem"),
        ("T-Shirt", "tshirt", "same_stem"),
        ("surf board", "surfboards", "same_stem"),
        ("on the right", "right", "specificity_or_verbosity"),
        ("pink", "pink and orange and red", "specificity_or_verbosity"),
        ("yes", "yes, it is", "specificity_or_verbosity"),
        ("field", "plains", "synonym"),
        ("gray cat", "a grey cat", "synonym"),  # what is left without the word they share
        ("playing wii", "playing video games", "hypernym"),
        ("vegetables", "carrots", "hypernym"),
        (
            "movie",
            "film",
            "synonym",
        ),  # one sense of film stands above another; they are synonyms all the same
    ],
)
def test_examples_of_the_categories(one: str, other: str, category: str) -> None:
    assert (
        held(one, other, wordnet=SmallWordNet())
        == {category}
        == held(other, one, wordnet=SmallWordNet())
    )


@pytest.mark.parametrize(
    "answer", ["unknown", "Unknown.", "I don't know", "it's unclear", "cannot tell"]
)
def test_an_answer_that_says_unknown(answer: str) -> None:
    assert held(answer, "cat") == {"unknown"}


@pytest.mark.parametrize(
    ("answer", "references"),
    [
        ("cat", ("dog", "horse")),
        ("there is no dog", ("dog",)),  # more words, and the contrary
        ("not in water", ("in water",)),
        ("at night", ("at",)),  # a function word is no common detail
        ("cat", ("a cat",)),  # the same once normalised: nothing to explain
        ("", ("cat",)),
        ("cat", ()),
        ("!", ("cat", "?")),
        ("unknown object", ("cat",)),
    ],
)
def test_what_no_rule_explains(answer: str, references: tuple[str, ...]) -> None:
    assert held(answer, *references, wordnet=SmallWordNet()) == set()


def test_several_categories_may_hold_through_several_references() -> None:
    found = held("gray cats", "gray cat", "grey cats", "cats", wordnet=SmallWordNet())
    assert found == {"same_stem", "synonym", "specificity_or_verbosity"}


def test_without_wordnet_its_categories_are_not_decided() -> None:
    assert label_answer("field", ["plains"], None) == {
        "same_stem": False,
        "specificity_or_verbosity": False,
        "unknown": False,
    }
    assert name_rules(None) == "rules|version:1|wordnet:none"
    assert name_rules(SmallWordNet()) == "rules|version:1|wordnet:small"


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=4))
def test_any_texts_have_labels_whatever_the_order_of_references(
    answer: str, references: list[str]
) -> None:
    found = label_answer(answer, references, SmallWordNet())
    assert len(found) == 5
    assert found == label_answer(answer, references[::-1], SmallWordNet())


# ---- WordNet through nltk


@pytest.fixture(params=["folder", "zip"])
def nltk_wordnet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[WordNet]:
    folder = write_wordnet(tmp_path)
    if request.param == "zip":  # as nltk's downloader leaves it
        corpora = folder / "corpora"
        shutil.make_archive(str(corpora / "wordnet"), "zip", corpora, "wordnet")
        shutil.rmtree(corpora / "wordnet")
    monkeypatch.setenv("NLTK_DATA", str(folder))
    load_wordnet.cache_clear()
    found = load_wordnet()
    assert found is not None
    yield found
    load_wordnet.cache_clear()


def test_senses_and_those_above_through_nltk(nltk_wordnet: WordNet) -> None:
    assert nltk_wordnet.version == "3.0"
    assert (
        nltk_wordnet.find_senses("grassland")
        == nltk_wordnet.find_senses("fields")
        == {"field.n.01"}
    )
    assert nltk_wordnet.find_senses("video games") == {"video_game.n.01"}
    assert nltk_wordnet.find_senses("no such word") == frozenset()
    # entity > physical entity > matter stand above everything: depths 0, 1 and 2
    assert nltk_wordnet.find_ancestors("carrot.n.01") == {"vegetable.n.01", "food.n.01"}


def test_synonym_and_hypernym_through_nltk(nltk_wordnet: WordNet) -> None:
    assert held("a field", "grassland", wordnet=nltk_wordnet) == {"synonym"}
    assert held("carrots", "veggies", wordnet=nltk_wordnet) == {"hypernym"}
    assert held("carrots", "film", wordnet=nltk_wordnet) == set()


@pytest.mark.parametrize("has_corpus", [True, False])
def test_without_the_corpus_or_nltk_there_is_no_wordnet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_corpus: bool
) -> None:
    """Without a corpus nltk is not even imported."""
    monkeypatch.setitem(sys.modules, "nltk.data", None)
    monkeypatch.setenv("NLTK_DATA", str(write_wordnet(tmp_path) if has_corpus else tmp_path))
    load_wordnet.cache_clear()
    assert load_wordnet() is None
    load_wordnet.cache_clear()
