import math

import pytest

from judgelake.tasks.metrics.exact_match import compute_exact_match
from judgelake.tasks.metrics.tokenizers import normalise_squad
from tests.metrics.questions import score


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The  Cat's an A-team!",
            "cats ateam",
        ),  # punctuation goes first, so "A-team" is no article
        ("a", ""),
        ("theatre", "theatre"),
        ("\tO’Neill…", "o’neill…"),  # only ASCII punctuation
        ("", ""),
    ],
)
def test_squad_normaliser(text: str, expected: str) -> None:
    assert normalise_squad(text) == expected


def test_any_reference_will_do() -> None:
    questions = [("a cat", ["dog", "The Cat."]), ("cats", ["cat"]), ("!", [""]), ("cat", [])]
    assert score(compute_exact_match, questions) == pytest.approx(
        [1.0, 0.0, 1.0, math.nan], nan_ok=True
    )
