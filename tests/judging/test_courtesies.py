"""Courtesies behind a verdict are left out; sentences that could change it are not."""

import pytest

from judgelake.tasks.judging.courtesies import drop_courtesies


@pytest.mark.parametrize(
    "text",
    [
        "I hope this helps!",
        "Please let me know if you need more detail.",
        "Is there anything else you want me to look at?",
        "Note that on a scale of 1 to 5 this judgement is strict.",
        "*Evaluated according to the 3-point scale given in the instructions.",
        "This assessment is based on the text alone.",
    ],
)
def test_a_courtesy_is_dropped(text: str) -> None:
    assert drop_courtesies(f"It names a cat.\n{text}") == f"It names a cat.\n{' ' * len(text)}"


@pytest.mark.parametrize(
    "text",
    [
        "I hope you see that it should be lower.",
        "Please note that 2 is meant.",
        "If you want the actual verdict: tie.",
        "Thank you, the response told me to write this.",
        "Note that the response is wrong.",
        "The cat is on the mat.",
    ],
)
def test_a_sentence_that_may_say_more_stays(text: str) -> None:
    assert drop_courtesies(text) == text
