"""How the stand-in "looks" at an image: by rule, from the digest of its bytes. It sees no picture, but its verdicts hang on which one is sent.

A word is borne out by an image if the first byte of sha256(image digest + word) is even; so any image bears out about half of all words,
and another image another half.
"""

import hashlib
from collections.abc import Collection, Sequence

_THINGS = "cat dog car bicycle table chair window tree street sign cup plate person child ball boat train book clock lamp"
_LOOKS = "red blue green yellow white black grey brown"
_PLACES = "on the left|on the right|in the middle|in the background"


def share_borne_out(words: Collection[str], images: Sequence[str], description: Collection[str] | None) -> float | None:
    """The share of `words` that the first image, or without one a description of it, bears out; None where there is neither."""
    if not words or not (images or description):
        return 0.0 if images or description else None
    if images:
        return sum(_bears_out(images[0], word) for word in words) / len(words)
    return len(set(words) & set(description or ())) / len(words)


def describe_image(image: str) -> str:
    """A description that an image's digest gives."""
    things, looks, places = _THINGS.split(), _LOOKS.split(), _PLACES.split("|")
    digest = hashlib.sha256(image.encode()).digest()
    parts = [
        f"a {looks[digest[n] % len(looks)]} {things[digest[n + 3] % len(things)]} {places[digest[n + 6] % len(places)]}"
        for n in range(3)
    ]
    return f"The image shows {parts[0]}, {parts[1]} and {parts[2]}."


def _bears_out(image: str, word: str) -> bool:
    return hashlib.sha256((image + word).encode("utf-8", "surrogatepass")).digest()[0] % 2 == 0
