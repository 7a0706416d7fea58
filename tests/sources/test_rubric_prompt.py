"""The rubric prompt taken apart: what is put in comes out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.sources.prometheus_vision import RubricPrompt, parse_rubric_prompt

WORDS = st.lists(
    st.sampled_from(["a", "cat", "\n", " ", "#", "##", "Score", "3:", "[x]", "é", "Feedback:"]),
    min_size=1,
).map("".join)
TEXTS = WORDS.map(str.strip).filter(bool)
LEVELS = st.lists(
    st.sampled_from(["bad", "good: very", "Score 2 is too much", "two\nlines"]),
    min_size=1,
    max_size=6,
).map(tuple)


def write(prompt: RubricPrompt, *, brackets: bool = False) -> str:
    criterion = f"[{prompt.criterion}]" if brackets else prompt.criterion
    levels = "\n".join(f"Score {number}: {text}" for number, text in enumerate(prompt.levels, 1))
    return (
        f"###Task Description:\nJudge.\n\n###The instruction to "
        f"evaluate:\n{prompt.instruction}\n\n###Response to evaluate:\n"
        f"{prompt.response}\n\n###Reference Answer (Score 5):\n{prompt.reference}\n\n###Score "
        f"Rubrics:\n{criterion}\n{levels}\n\n###Feedback:"
    )


@given(
    TEXTS,
    TEXTS | st.just(""),
    TEXTS,
    st.sampled_from(["Is it right?", "Clear: or not", "a\nb"]),
    LEVELS,
    st.booleans(),
)
def test_parse_undoes_write(
    one: str, two: str, three: str, criterion: str, levels: tuple[str, ...], brackets: bool
) -> None:
    prompt = RubricPrompt(one, two, three, criterion, levels)
    assert parse_rubric_prompt(write(prompt, brackets=brackets)) == prompt


@given(
    st.text()
    | st.lists(
        st.sampled_from(write(RubricPrompt("i", "r", "f", "c", ("l",))).splitlines()), max_size=9
    ).map("\n".join)
)
def test_it_never_raises(text: str) -> None:
    parsed = parse_rubric_prompt(text)
    assert parsed is None or (parsed.instruction and parsed.levels and parsed.criterion)


def test_a_response_that_quotes_the_layout_is_not_cut() -> None:
    quoted = "I was told:\n###The instruction to evaluate:\nDo it.\n###Response to evaluate:\nDone."
    prompt = RubricPrompt("Do it.", quoted, "Done well.", "Is it?", ("no", "yes"))
    assert parse_rubric_prompt(write(prompt)) == prompt


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("###The instruction to evaluate:\n", ""),
        ("###Response to evaluate:\n", ""),
        ("###Reference Answer (Score 5):\n", ""),
        ("###Score Rubrics:\n", ""),
        ("Score 2:", "Score 3:"),
        ("Score 1: bad", "Score 1:"),
        ("Is it?\n", ""),
        ("\nDo it.\n", "\n"),
    ],
)
def test_a_missing_part_is_none(old: str, new: str) -> None:
    text = write(RubricPrompt("Do it.", "Done.", "Done well.", "Is it?", ("bad", "good")))
    assert old in text
    assert parse_rubric_prompt(text.replace(old, new)) is None
