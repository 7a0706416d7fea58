"""The stand-in's rules for prompts that ask for an answer to an item (`judgelake answer`).

A question with an image is answered with what the image's digest gives: a short answer names its
first thing, any other one describes three. Without an image the question's own words are drawn
from, by its digest.
"""

import hashlib
import re

from judgelake.tasks.standin.rules import (
    Asked,
    TokenReply,
    content_words,
    describe_image,
    split_tokens,
)

# how the prompts `answer_*.txt` end
_ASKS = re.compile(
    r"\n(?P<short>Reply with the answer alone\b|Read it off the document\b"
    r"|Reply with a phrase\b)[^\n]*\Z"
    r"|\n(?:Reply in full sentences\b|Reply with a caption\b)[^\n]*\Z"
)
_FIRST = re.compile(r"The image shows a (.+?), a ")


def answer_item(asked: Asked) -> TokenReply | None:
    """The answer to an item's prompt; None to any other prompt, but one about an image is always
    answered.
    """
    match = _ASKS.search(asked.text)
    if match is None and not asked.images:
        return None
    if not asked.images:
        return TokenReply(
            split_tokens(_pick_word(asked.text[: match.start()] if match else "")), {}
        )
    described = describe_image(asked.images[0])
    first = _FIRST.match(described)
    short = match is not None and match["short"] is not None and first is not None
    return TokenReply(split_tokens(first[1] if short and first else described), {})


def _pick_word(question: str) -> str:
    words = sorted(content_words(question)) or ["unknown"]
    return words[hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()[0] % len(words)]
