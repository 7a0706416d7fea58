import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.metrics.vqa_accuracy import CONTRACTIONS, normalise_official, strip_official
from tests.metrics.questions import texts
from tests.oracle import official_vqa_eval as oracle


@given(st.lists(texts, max_size=6))
def test_every_string_normalises_as_the_plain_rules_say(strings: list[str]) -> None:
    stripped = strip_official(strings)
    assert stripped == [oracle.trim(text) for text in strings]
    assert normalise_official(stripped) == [oracle.normalise(text) for text in stripped]


@given(st.lists(texts, max_size=6))
def test_neighbours_do_not_change_a_string(strings: list[str]) -> None:
    alone = [normalise_official(strip_official([text]))[0] for text in strings]
    assert normalise_official(strip_official(strings)) == alone


def test_contractions_are_the_official_table() -> None:
    assert CONTRACTIONS == oracle.CONTRACTED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  two Dogs", "2 dogs"),
        ("none", "0"),
        ("dont", "don't"),
        ("somebody'd", "somebodyd"),
        ("black-and-white", "black and white"),  # no hyphen touches a space: each becomes one
        ("well -known t-shirt", "well known tshirt"),  # one does: all are dropped
        ("1,000 a/b", "1000 ab"),  # a comma inside a number drops every mark
        ("a/b", "b"),  # the slash becomes a space, then "a" is an article
        ("3.5 p.m.", "3.5 pm"),
        ("." * 33 + "x", ".x"),  # 32 periods at the most
        ("!?", ""),
    ],
)
def test_oddities_of_the_official_rules(text: str, expected: str) -> None:
    assert normalise_official([text]) == [expected]
    assert oracle.normalise(text) == expected
