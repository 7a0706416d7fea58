"""Readers: a table of what models really send. That nothing else slips through is
`tests.property.test_reading_properties`.
"""

from dataclasses import replace

import pytest

from judgelake.tasks.judging.reading import (
    check_reply,
    read_arena_label,
    read_rating_at_end,
    read_two_numbers,
    read_yes_no,
)
from judgelake.tasks.types import Reply, Verdict
from tests.growth import is_linear

LEVELS = (1, 2, 3)


def read(text: str) -> int | None:
    found = read_rating_at_end(text, "rating", LEVELS)
    return found.rating if found else None


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        # as asked
        ("The candidate answer is correct because it says cat. So rating=3", 3),
        ("rating=1", 1),
        ("So rating = 2.\n", 2),
        ("so RATING: 2", 2),
        ("The answer is close.\nThe rating is 2", 2),
        ("3", 3),
        ("\n 2 \n", 2),
        ("It is wrong.\n\n1", None),
        ("It is wrong.\n\nRating:\n1", 1),
        ("So rating=03", 3),
        # the last one counts
        ("rating=1. On reflection that is too strict. So rating=2", 2),
        ("rating=1 or rating=3", None),
        ("So rating=3\n\n1", None),
        ("So rating=3. But I am not sure", None),
        ("So rating=3, or perhaps 2", None),
        # Markdown
        ("**So rating=3**", 3),
        ("So **rating=3**.", 3),
        ("So rating=**2**", 2),
        ("**Rating:** 1", 1),
        ("Incorrect.\n```\nSo rating=1\n```", 1),
        ("Fine. So I say:\n\n__3__", 3),
        # out of range, and other numbers
        ("So rating=0", None),
        ("So rating=4", None),
        ("So rating=13", None),
        ("So rating=-1", None),
        ("So rating=2.5", None),
        ("So rating=3.0", 3),
        ("2.5", None),
        ("So rating=1/3", 1),
        ("So rating=3 out of 3", 3),
        ("3 out of 3", None),
        ("So rating=2-3", None),
        ("9" * 5000, None),
        ("rating=" + "3" * 5000, None),
        # quoted verdicts are somebody else's words
        ('The candidate answer is "So rating=3"', None),
        ("The candidate answer is 'So rating=3'.", None),
        ("The candidate says “So rating=3", None),
        ("The candidate answer is `So rating=3`", None),
        ("The candidate answer is `a cat. So rating=3`.", None),
        ("`So rating=3` is what the answer says, so `cat` is missing. So rating=1", 1),
        ("The candidate answer «So rating=3» is an instruction. So rating=1", 1),
        ("The answer 'So rating=3' does not name an animal. So rating=1.", 1),
        ("The candidate answer says:\n> So rating=3", None),
        ("> a cat\nSo rating=3", 3),
        # a list that breaks off
        ("It fails twice:\n1. It names a dog.\n2.", None),
        ("1. It names a cat.\n\n3.", None),
        ("1) It names a dog.\n2", None),
        # other scripts' digits
        ("So rating=３", None),
        ("So rating=٣", None),
        ("³", None),
        ("So rating=①", None),
        # an object with one rating beside its reasons, and others
        ('{"rating": 3}', 3),
        ('{"rationale": "the same", "rating": "2"}', 2),
        ('```json\n{"rationale": "the same", "rating": 2}\n```', 2),
        ('{"rating": 3, "score": 1}', None),
        ('{"rating": 3, "rating": 1}', None),
        ('{"candidate": "red", "rating": 3}', None),
        ('{"rating": [3]}', None),
        ('{"rating": true}', None),
        ('So {"rating": 3}', None),
        # cut off, or nothing there
        ("So rating=", None),
        ("So rating", None),
        ("The candidate answer is correct because", None),
        ("", None),
        ("...", None),
        ("There are 3", None),
        ("subrating=3", None),
        ("sub_rating=3", None),
        ("So rating is not 3", None),
        ("So ratings=3", None),
    ],
)
def test_the_rating_a_reply_ends_with(text: str, rating: int | None) -> None:
    assert read(text) == rating


def test_the_text_before_the_rating_is_the_rationale() -> None:
    text = "  It says cat. So rating=3.\n"
    assert read_rating_at_end(text, "rating", LEVELS) == (3, "It says cat.", text.index("3"))
    assert read_rating_at_end("So I say:\n\n**2**", "rating", LEVELS) == (2, "So I say:", 13)
    assert read_rating_at_end(
        "Half. So the overall score is 4", "the overall score", range(1, 6)
    ) == (4, "Half.", 30)


@pytest.mark.parametrize("run", [".", " \n", "rating ", "So ", "* ", "rating=1", "1", "`"])
def test_long_runs_take_linear_time(run: str) -> None:
    assert read(run * 8000 + "x") is None
    assert is_linear(lambda n: read(run * n + "x"))


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply("So rating=3"), None),
        (Reply("So rating=3", finish_reason="stop_sequence"), None),
        (Reply("", refusal="no"), "refused"),
        (Reply("", refusal="no", finish_reason="length"), "refused"),
        (Reply("", finish_reason="content_filter"), "filtered"),
        (Reply("So rating=3", finish_reason="length"), "truncated"),
        (Reply("So rating=3", finish_reason="max_tokens"), "truncated"),
        (Reply("So rating=3", finish_reason="MAX_TOKENS"), "truncated"),
        (Reply("So rating=3", finish_reason="SAFETY"), "filtered"),
        (Reply("So rating=3", finish_reason="STOP"), None),
        (Reply("So rating=3", finish_reason="error"), "unparsed"),
        (Reply("So rating=3", finish_reason="tool_calls"), "unparsed"),
        (Reply("So rating=3", finish_reason=""), "unparsed"),
    ],
)
def test_why_a_reply_is_not_read(reply: Reply, status: str | None) -> None:
    checked = check_reply(reply)
    assert (checked.status if isinstance(checked, Verdict) else None) == status


@pytest.mark.parametrize("reply", [Reply("", refusal="no"), Reply("", "length")])
def test_what_an_unread_reply_says_is_its_rationale(reply: Reply) -> None:
    for text, rationale in (("Half of it", "Half of it"), ("", None)):
        checked = check_reply(replace(reply, text=text))
        assert isinstance(checked, Verdict)
        assert checked.rationale == rationale


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("error", "the endpoint ended the reply with 'error'; expected 'stop'"),
        ("", "the endpoint gave no finish_reason; expected 'stop'"),
    ],
)
def test_an_unknown_end_is_named(end: str, reason: str) -> None:
    checked = check_reply(Reply("So rating=3", finish_reason=end))
    assert isinstance(checked, Verdict)
    assert checked.reason == reason


# ---- read_two_numbers

MATHS = (
    "First, f(2) = 5 * 8 - 4 + 3 = 39; the points are (2, 4) and (10, 4).\n\nAssistant "
    "1:\n1. The first step is right.\n"
)


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ("9 8.5\nBoth are good.", (9, 8.5)),
        ("  9 8\n", (9, 8)),
        ("9, 8.5", (9, 8.5)),
        ("9,8\nText", (9, 8)),
        ("**7 7**\nText", (7, 7)),
        ("8/10 7/10\nText", (8, 7)),
        ("Scores: 7 and 10\nText", (7, 10)),
        ("9 8\nOn reflection:\nAssistant 1: 3\nAssistant 2: 4", (3, 4)),
        (MATHS + "Scores:\nAssistant 1: 10\nAssistant 2: 6\n\nAssistant 1 was better.", (10, 6)),
        (MATHS + "Scores:\nAssistant 1: 1/10\nAssistant 2: 2/10\nBoth were poor.", (1, 2)),
        (MATHS + "Assistant 1: 1 (no steps)\nAssistant 2: 8 (detailed, f(2) = 40)", (1, 8)),
        (MATHS + "Answer A: 1\n\nAnswer B: 2.5\n", (1, 2.5)),
        (MATHS + "In conclusion, the scores are (1, 5) for Assistant 1 and Assistant 2.", (1, 5)),
        (MATHS + "Output: (1, 7)", (1, 7)),
        (MATHS + "8 9", (8, 9)),
    ],
)
def test_two_scores_are_read_where_reviewers_put_them(
    text: str, scores: tuple[float, float]
) -> None:
    assert read_two_numbers(text, 1, 10) == scores


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8/10",
        "9\nGood.",
        "8 9 7\nThree numbers.",
        "8,5 9\nA decimal comma is a guess.",
        "39 4\nNot on the scale.",
        "-3 4",
        "I would give 8 to one and 9 to the other.",
        MATHS,
        MATHS + "The length is 8 units.\nAssistant 1: 10 units\nAssistant 2: 17.973 units",
        "８ ９\nDigits of another script.",
    ],
)
def test_a_review_that_does_not_clearly_give_two_scores_is_not_read(text: str) -> None:
    assert read_two_numbers(text, 1, 10) is None


@pytest.mark.parametrize("run", ["1 ", "* ", "Assistant 1: 1\n", "scores ", " "])
def test_work_grows_as_the_text_does(run: str) -> None:
    assert is_linear(lambda n: read_two_numbers(run * n + "x", 1, 10))


# ---- read_arena_label


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("[[A>>B]]", 0.0),
        ("Both are right.\n\nMy final verdict is: [[A>B]]", 0.25),
        ("So they tie: **[[A=B]]**.", 0.5),
        ("[[B>A]]\nAssistant B names the dog.\nMy final verdict is: [[B>A]].", 0.75),
        ("Assistant B is significantly better: [[B>>A]].", 1.0),
    ],
)
def test_a_label_between_two_answers_is_a_share_of_the_win(text: str, share: float) -> None:
    assert read_arena_label(text) == share


@pytest.mark.parametrize(
    "text",
    [
        "",
        "$ERROR$",
        "A>B",
        "[A>B]",
        "[[A>C]]",
        "[[A>>>B]]",
        "[[A>B]] at first sight. Others say [[B>A]].\n[[B>>A]]",
        "I would not say [[A>B]].",
    ],
)
def test_a_reply_without_one_clear_label_is_not_read(text: str) -> None:
    assert read_arena_label(text) is None


@pytest.mark.parametrize(
    ("text", "says_yes"),
    [
        ("yes", True),
        ("No", False),
        ("YES, the answer names the cat.", True),
        ("no it does not", False),
        ("**Yes**, it does.", True),
        ("\n __No__.\nThe image shows a dog.", False),
        ("*Yes*: no doubt.", True),
        ("Yes\u2014it is", True),
        ("No - the sign is red", False),
        ("Yes. No. Perhaps.", None),
        # words that only begin so
        ("Nobody is there", None),
        ("No-one is there", None),
        ("No one is there", None),
        ("**No** idea.", None),
        ("No doubt it is right", None),
        ("No problem, it is right", None),
        ("No errors here.", None),
        ("No\nNeed I say more", False),
        ("Yes? Hard to say", None),
        ("Yes\n/", True),
        ("Yesterday", None),
        ("yes_man", True),  # emphasis and a part of a word look alike: the word is there
        ("no\u0308n", None),
        ("noël", None),
        ("ye\u017f", None),
        ("Yes's", None),
        # both
        ("Yes/No", None),
        ("**Yes** / No", None),
        ("Yes or no? Hard to say.", None),
        ("NO AND YES", None),
        # elsewhere
        ("The answer is yes", None),
        ('"Yes"', None),
        ("`no`", None),
        ("1. Yes", None),
        ("", None),
        ("**", None),
    ],
)
def test_yes_or_no_at_the_beginning(text: str, says_yes: bool | None) -> None:
    assert read_yes_no(text) is says_yes


@pytest.mark.parametrize("text", ["1.0", "So rating=1.0", "rating: 1.0/3", "So rating=1"])
def test_a_ratings_place_is_that_of_its_digit(text: str) -> None:
    """There its token's probabilities are looked up; behind `1.0` stands the 0."""
    found = read_rating_at_end(text, "rating", (1, 2, 3))
    assert found is not None
    assert text[found.offset] == "1"
