"""How many tokens an image is, by the rules that providers publish. Which model has which rule is
in `tasks/backends/prices.yaml`.

The figures are those of the providers' documentation at the table's date; sizes are of the image as
it is sent.

Measured against the replies that came, the guess becomes an estimate; that is its callers' matter
(`tasks.engine.budget`, `tasks.planning.estimate`).
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from judgelake.tasks.types import Image, Request

UNKNOWN_TOKENS = 1000.0
"""Of an image whose model has no rule in the table: open VLMs take 250 to 3,000."""
USUAL_SIZE = (640, 480)
"""Of an image that cannot be opened here (COCO's usual size)."""


class ImageSize(NamedTuple):
    """Pixels."""

    width: float
    height: float


def count_image_tokens(rule: tuple[Any, ...], width: float, height: float) -> float:
    """Tokens of an image of this size under `rule`; `UNKNOWN_TOKENS` where there is none."""
    return _RULES[rule[0]](ImageSize(width, height), *rule[1:]) if rule else UNKNOWN_TOKENS


def fit_side(width: int, height: int, max_side: int) -> ImageSize:
    """The size at which an image is sent: scaled down so that no side is longer than `max_side`."""
    return _shrink(ImageSize(width, height), max_side / max(width, height))


def _shrink(size: ImageSize, factor: float) -> ImageSize:
    return size if factor >= 1 else ImageSize(size.width * factor, size.height * factor)


def _count_tiles(size: ImageSize, base: float, tile: float) -> float:
    """OpenAI, detail high: fit into 2048 x 2048, then the shorter side to 768; `base` and `tile`
    for each 512 x 512 begun.
    """
    size = _shrink(size, 2048 / max(size))
    size = _shrink(size, 768 / min(size))
    return base + tile * _pieces(size, 512)


def _count_patches(size: ImageSize, factor: float) -> float:
    """OpenAI's smaller models: patches of 32 x 32, scaled down so that there are at most 1,536 of
    them, times `factor`.
    """
    most = 1536
    if _pieces(size, 32) > most:
        size = _shrink(size, math.sqrt(most * 32 * 32 / (size.width * size.height)))
    return factor * min(most, _pieces(size, 32))


def _count_area(size: ImageSize, pixels: float) -> float:
    """Anthropic: a token for each `pixels` of an image of at most 1,568 pixels a side and 1.15
    megapixels.
    """
    size = _shrink(_shrink(size, 1568 / max(size)), math.sqrt(1.15e6 / (size.width * size.height)))
    return size.width * size.height / pixels


def _count_squares(size: ImageSize, tokens: float) -> float:
    """Gemini from 2.0: one piece where both sides are at most 384, else a piece for each 768 x 768
    begun.
    """
    return tokens if max(size) <= 384 else tokens * _pieces(size, 768)


def _count_each(_: ImageSize, tokens: float) -> float:
    """The same for every image."""
    return tokens


def _pieces(size: ImageSize, side: int) -> int:
    # the last digits of a scaled side are noise: 768.0000000001 is no second tile
    return math.ceil(round(size.width, 6) / side) * math.ceil(round(size.height, 6) / side)


_RULES: Mapping[str, Callable[..., float]] = {
    "tiles": _count_tiles,
    "patches": _count_patches,
    "area": _count_area,
    "squares": _count_squares,
    "each": _count_each,
}


CHARS_PER_TOKEN = 4.0
"""Of English prose in the tokenizers of today's models; figures, names and other scripts take more
tokens.
"""
_CHARS_PER_MESSAGE = 12
"""A message's role and its delimiters are three tokens or four."""


def count_characters(request: Request) -> int:
    """The characters that a model reads, with those that stand for a message's frame."""
    begun = request.answer.opening if request.form == "forced" and request.answer else ""
    return sum(len(message.text) + _CHARS_PER_MESSAGE for message in request.messages) + len(
        request.scored + begun
    )


def guess_image_tokens(
    request: Request, rule: tuple[object, ...], find_size: Callable[[Image], tuple[float, float]]
) -> float:
    """Tokens of all images of a request, by a rule of `tasks.backends.tokens`; `find_size` gives
    an image's pixels as it is sent.
    """
    images = [image for message in request.messages for image in message.images]
    return sum(count_image_tokens(rule, *find_size(image)) for image in images)
