"""The words of the demo: names of colours, shapes, places, numbers, times and prices, and other
words for the same things.

Words only. What a picture holds is in `tasks.demo.world`; what may be said about it is in
`tasks.demo.scene_questions` and `tasks.demo.reading_questions`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Colour:
    """How a colour is painted and spoken of: `specific` is narrower, `other` means the same,
    `vague` holds for others too.
    """

    rgb: tuple[int, int, int]
    specific: str
    other: tuple[str, ...]
    vague: str
    alike: str


class Shape(NamedTuple):
    """Names of a shape: `vague` is true of it and of others, `alike` sounds near and is wrong."""

    usual: tuple[str, ...]
    other: tuple[str, ...]
    vague: tuple[str, ...]
    alike: tuple[str, ...]


COLOURS = {
    "red": Colour(
        (206, 48, 48), "bright red", ("crimson", "scarlet"), "a warm colour", "reed green"
    ),
    "orange": Colour((236, 130, 36), "deep orange", ("tangerine",), "a warm colour", "off-white"),
    "yellow": Colour(
        (242, 204, 56), "sunny yellow", ("gold", "golden"), "a warm colour", "mellow blue"
    ),
    "green": Colour((64, 150, 84), "leaf green", ("emerald", "jade"), "a cool colour", "grey"),
    "blue": Colour((48, 104, 196), "medium blue", ("cobalt", "sapphire"), "a cool colour", "black"),
    "purple": Colour(
        (124, 72, 168), "deep purple", ("violet", "plum"), "a cool colour", "pure white"
    ),
    "pink": Colour((242, 146, 182), "light pink", ("rose",), "a warm colour", "pine green"),
    "brown": Colour(
        (124, 82, 50), "dark brown", ("chocolate", "chestnut"), "an earthy colour", "bone white"
    ),
    "grey": Colour((124, 128, 136), "mid grey", ("slate", "ash"), "a dull colour", "green"),
}

SHAPES = {
    "circle": Shape(
        ("circle", "round circle"),
        ("disc", "disk"),
        ("something round",),
        ("semicircle", "circular saw"),
    ),
    "square": Shape(
        ("square", "box"),
        ("equal-sided rectangle",),
        ("something with corners",),
        ("square root", "octagon"),
    ),
    "triangle": Shape(
        ("triangle", "pointed triangle"),
        ("three-sided figure",),
        ("something with corners",),
        ("rectangle", "tangle"),
    ),
    "star": Shape(
        ("star", "five-pointed star"),
        ("figure with five points",),
        ("something pointed",),
        ("starfish", "stair"),
    ),
    "hexagon": Shape(
        ("hexagon", "regular hexagon"),
        ("six-sided figure",),
        ("some polygon",),
        ("pentagon", "octagon"),
    ),
}

PLACES = (
    ("top left", "top middle", "top right"),
    ("middle left", "centre", "middle right"),
    ("bottom left", "bottom middle", "bottom right"),
)
"""Names of the nine cells of a scene, by row and column."""

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
)
ORDINALS = ("first", "second", "third", "fourth", "fifth")

_TO_TWELVE = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_SMALL = (
    *_TO_TWELVE,
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    """Draw one of the options, each as likely as the others."""
    return options[int(rng.integers(len(options)))]


def pick_distinct(rng: np.random.Generator, options: Sequence[T], count: int) -> list[T]:
    """Draw `count` different options, in drawn order."""
    return [options[int(place)] for place in rng.permutation(len(options))[:count]]


def name_number(number: int) -> str:
    """Spell a whole number from 0 to 99."""
    if number < len(_SMALL):
        return _SMALL[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens] + (f"-{_SMALL[ones]}" if ones else "")


def misname_number(number: int) -> tuple[str, ...]:
    """Numbers that look or sound like `number` and are others: thirteen for three, forty for
    fourteen, a zero too many.
    """
    sounds = {
        1: "none",
        2: "twelve",
        3: "thirteen",
        5: "fifteen",
        8: "eighteen",
        11: "seven",
        12: "twenty",
        20: "twelve",
    }
    if number in (4, 6, 7, 9):
        sounds[number] = f"{name_number(number)}teen"
    if 13 <= number <= 19:
        sounds[number] = _TENS[number - 10]
    return (*([sounds[number]] if number in sounds else []), f"{number}0")


def join_words(parts: Sequence[str]) -> str:
    """Join with commas and a last "and"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def with_article(noun: str) -> str:
    """Put a or an before a noun phrase."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def count_noun(number: int, noun: str) -> str:
    """Say a small number of things: a red circle, two red circles."""
    return with_article(noun) if number == 1 else f"{name_number(number)} {noun}s"
