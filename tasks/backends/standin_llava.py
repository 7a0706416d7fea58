"""The stand-in's rules for prompts of two-number scoring (`[Answer 1]` ... `[End of answer 2]`) and of image description.

Scoring. With n the number of an answer's distinct content words, q the share of the question's content words it takes up, and s the
share of its content words that the image or the context bears out, a score is 1 + 9 x (l + q + s) / 3, where l = min(1, n / 20), or
1 + 9 x (l + q) / 2 without image and context; rounded to halves.
"""

import re

from tasks.backends.standin_looking import describe_image, share_borne_out
from tasks.backends.standin_rules import Answer, Asked, content_words, split_tokens

_PART = re.compile(
    r"^\[(Context|Question|Answer 1|Answer 2)\]\n(.*?)^\[End of (?:context|question|answer 1|answer 2)\]$", re.M | re.S
)
_ASKS_TWO_NUMBERS = re.compile(r"scale of 1 to 10\b.*\btwo numbers\b", re.DOTALL)
_ASKS_DESCRIPTION = re.compile(r"\ADescribe the image so that\b.*\bdescription alone\b", re.DOTALL)
_LONG = 20


def score_two(asked: Asked) -> Answer | None:
    """The answer to a prompt of two-number scoring; None to any other."""
    parts = dict(_PART.findall(asked.text))
    if not {"Question", "Answer 1", "Answer 2"} <= parts.keys() or not _ASKS_TWO_NUMBERS.search(asked.text):
        return None
    context = content_words(parts["Context"]) if "Context" in parts else None
    first, second = (_score(parts[f"Answer {side}"], parts["Question"], asked.images, context) for side in "12")
    better = "Both are equally good." if first == second else f"Answer {1 if first > second else 2} says more to the point."
    return Answer(split_tokens(f"{first:g} {second:g}\n{better}"), {})


def write_caption(asked: Asked) -> Answer | None:
    """The answer to a prompt that asks to describe an image that is sent; None to any other."""
    if not asked.images or not _ASKS_DESCRIPTION.search(asked.text):
        return None
    return Answer(split_tokens(describe_image(asked.images[0])), {})


def _score(answer: str, question: str, images: tuple[str, ...], context: frozenset[str] | None) -> float:
    words, wanted = content_words(answer), content_words(question)
    shares = [min(1.0, len(words) / _LONG), len(words & wanted) / max(1, len(wanted))]
    seen = share_borne_out(words, images, context)
    shares += [] if seen is None else [seen]
    return round(2 * (1 + 9 * sum(shares) / len(shares))) / 2
