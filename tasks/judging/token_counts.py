"""How many tokens a request will be, before anybody has counted them: from its characters and its images.

Measured against the replies that came, the guess becomes an estimate; that is its callers' matter (`budget`, `tasks.estimating`).
"""

from collections.abc import Callable

from tasks.image_tokens import count_image_tokens
from tasks.judging.types import Image, Request

CHARS_PER_TOKEN = 4.0
"""Of English prose in the tokenizers of today's models; figures, names and other scripts take more tokens."""
_CHARS_PER_MESSAGE = 12
"""A message's role and its delimiters are three tokens or four."""


def count_characters(request: Request) -> int:
    """The characters that a model reads, with those that stand for a message's frame."""
    return sum(len(message.text) + _CHARS_PER_MESSAGE for message in request.messages) + len(request.scored)


def guess_image_tokens(request: Request, rule: tuple[object, ...], find_size: Callable[[Image], tuple[float, float]]) -> float:
    """Tokens of all images of a request, by a rule of `tasks.image_tokens`; `find_size` tells pixels as they are sent."""
    images = [image for message in request.messages for image in message.images]
    return sum(count_image_tokens(rule, *find_size(image)) for image in images)
