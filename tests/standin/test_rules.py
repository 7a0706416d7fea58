import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.judging import lave
from judgelake.tasks.standin.answers import NO_RULE, answer_request
from judgelake.tasks.standin.rules import (
    Asked,
    RatingCase,
    TokenReply,
    judge_case,
    normal_words,
    read_case,
    split_references,
    split_tokens,
)
from judgelake.tasks.types import Case


def answer_prompt(prompt: str) -> TokenReply:
    return answer_request(Asked(prompt))


@pytest.mark.parametrize(
    ("question", "references", "candidate", "rating"),
    [
        ("What colour is it?", ["gray"], "Grey.", 3),  # synonym, case, punctuation
        (
            "What is it?",
            ["the couch"],
            "a red sofa",
            3,
        ),  # all content words of the reference, and more
        ("How many?", ["2"], "two dogs", 3),  # number word
        ("What is he doing?", ["running"], "runs", 3),  # runn -> run, runs -> run
        ("What is he doing?", ["riding a bike"], "ride bicycle", 3),  # rid, bicycl on both sides
        ("What film?", ["movies"], "a movie", 3),  # movy -> movi, movie -> movi
        ("What are they?", ["babies", "dishes"], "a dish", 3),
        ("Whose?", ["men's room"], "man room", 3),
        ("What is it?", ["red car"], "a red truck", 2),  # 1 of 2 content words
        ("What is it?", ["cat"], "dog", 1),
        ("What is it?", ["on the table"], "on the chair", 1),  # "on" is no content word
        ("Where?", ["on"], "on", 3),  # ... unless there is no other
        ("What is it?", ["cat"], "", 1),
        ("What is it?", ["a", "the"], "cat", 1),  # references of articles only
        ("Is it red?", ["yes"], "yes, it is", 3),
        ("Is it red?", ["yes"], "yeah", 3),
        ("Is it red?", ["yes"], "it is red", 1),  # neither yes nor no
        ("Is it red?", ["no"], "yes", 1),
        (
            "Is it red or blue?",
            ["red"],
            "red",
            3,
        ),  # opens with an auxiliary, but the references do not say yes or no
        ("What is it?", ["cat"] * 8 + ["dog"] * 2, "dog", 3),  # 2 * 4 >= 8: kept
        ("What is it?", ["cat"] * 9 + ["dog"] * 2, "dog", 1),  # 2 * 4 < 9: left out
        (
            "What is it?",
            ["a cat"] * 5 + ["Cat"] * 4 + ["dog"] * 2,
            "dog",
            1,
        ),  # 'a cat' and 'Cat' count as one: 9
        ("What is it?", [], "cat", 1),
    ],
)
def test_rating_of_a_case(
    question: str, references: list[str], candidate: str, rating: int
) -> None:
    assert judge_case(RatingCase(question, tuple(references), candidate)).rating == rating


@pytest.mark.parametrize(
    ("references", "candidate", "expected"),
    [
        (("grey cat",), "a grey cat", (0.02, 0.06, 0.90)),  # p = 2/2
        (("cat",), "big grey cat", (0.02, 0.26 - 0.2 / 3, 0.70 + 0.2 / 3)),  # p = 1/3
        (("grey cat",), "grey dog", (0.19, 0.60, 0.19)),  # r = 1/2: 0.38 / 2
        (("grey cat", "grey old cat toy"), "dog", (0.90, 0.06, 0.02)),
    ],
)
def test_probabilities_by_hand(
    references: tuple[str, ...], candidate: str, expected: tuple[float, ...]
) -> None:
    probabilities = judge_case(RatingCase("What?", references, candidate)).probabilities
    assert [probabilities[rating] for rating in "123"] == pytest.approx(expected)


words = st.lists(
    st.sampled_from(["the", "cat", "grey", "dog", "red", "on", "two", "yes", "no", "running"]),
    max_size=5,
).map(" ".join)


@given(st.sampled_from(["What is it?", "Is it red?"]), st.lists(words, max_size=6), words)
def test_the_rating_is_the_likeliest_and_the_mass_is_below_one(
    question: str, references: list[str], candidate: str
) -> None:
    judged = judge_case(RatingCase(question, tuple(references), candidate))
    assert max(judged.probabilities, key=lambda rating: judged.probabilities[rating]) == str(
        judged.rating
    )
    assert math.isclose(sum(judged.probabilities.values()), 0.98)


@given(st.text())
def test_tokens_join_to_the_text(text: str) -> None:
    assert "".join(split_tokens(text)) == text


@given(st.text())
def test_any_prompt_is_answered(prompt: str) -> None:
    assert answer_prompt(prompt).tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'a', 'b', 'b'", ("a", "b", "b")),
        ("'men's room', 'red, white'", ("men's room", "red, white")),
        ("a, b", ("a", "b")),
        ("['a', 'b'].", ("a", "b")),
        ('"a", "b"', ("a", "b")),
        ("", ()),
        ("'", ("'",)),
    ],
)
def test_references_are_split(text: str, expected: tuple[str, ...]) -> None:
    assert split_references(text) == expected


DEMONSTRATION = (
    "Question: What is it?\nReference answers: 'dog'\nCandidate answer: "
    "dog\nOutput: So rating=3\n\n"
)


def test_only_the_last_case_is_looked_at() -> None:
    prompt = (
        DEMONSTRATION
        + "Question: Where?\nReference answers: 'park'\nCandidate answer: dog\nOutput:"
    )
    assert read_case(prompt) == RatingCase("Where?", ("park",), "dog")
    assert answer_prompt(prompt).tokens == ("1",)


def test_a_last_case_without_all_fields_is_not_filled_from_a_demonstration() -> None:
    assert (
        "".join(answer_prompt(DEMONSTRATION + "Question: Where?\nCandidate answer: dog").tokens)
        == NO_RULE
    )
    assert answer_prompt("Rate this response from 1 to 5.").alternatives == {}


def test_a_rationale_is_given_when_the_prompt_asks_for_one() -> None:
    answer = answer_prompt("Give the rationale before rating.\n" + DEMONSTRATION)
    assert (
        "".join(answer.tokens)
        == "The candidate answer says the same as the reference answer 'dog'. So rating=3"
    )
    (rating_at,) = answer.alternatives
    assert answer.tokens[rating_at] == "3"


@pytest.mark.parametrize(("answer", "rating"), [("a big park", 3), ("dog", 1)])
@pytest.mark.parametrize("rationale", [True, False])
def test_the_projects_own_lave_prompt_is_understood(
    answer: str, rating: int, rationale: bool
) -> None:
    case = Case("b", "1", "vqa", "Where is the dog?", ("park", "park", "the park"), answer, "")
    prompt = lave.build_prompt(case, lave.LaveOptions(rationale=rationale))
    assert answer_prompt(prompt).tokens[-1] == str(rating)


@pytest.mark.parametrize(
    ("word", "normal"),
    [
        ("flies", "fly"),
        ("ties", "tie"),
        ("berries", "berri"),
        ("boxes", "box"),
        ("dresses", "dress"),
        ("glass", "glass"),
        ("cats", "cat"),
        ("gas", "gas"),
        ("running", "run"),
        ("string", "string"),
        ("king", "king"),
    ],
)
def test_a_word_in_its_normal_form(word: str, normal: str) -> None:
    assert normal_words(word) == (normal,)
