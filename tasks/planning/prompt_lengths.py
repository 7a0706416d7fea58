"""Estimates how many tokens prompts have, and the error of that: with the model's own tokenizer
where it is on this machine, else from replies in the lake, else by the number of characters.

Prices are in `tasks.backends.prices`; the requests to be priced are found in
`tasks.planning.estimate`.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from judgelake.tasks.backends.prices import find_listed
from judgelake.tasks.backends.tokens import (
    CHARS_PER_TOKEN,
    USUAL_SIZE,
    count_characters,
    fit_side,
    guess_image_tokens,
)
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.types import Image, Request, is_remote

GUESS_ERROR, UNKNOWN_IMAGE_ERROR, TOKENIZER_ERROR, LEAST_ERROR = 0.15, 0.5, 0.03, 0.01
"""Relative errors of a total: of 4 characters a token in English text; of images of a model without
a known rule; of a chat template's delimiters; the least of a factor measured on replies.
"""
_ENOUGH = 5
"""So many earlier replies are needed to measure the factor."""
_FRAME = 4
"""Tokens of a message's role and delimiters."""
_STANDIN = "standin/rules"
"""The stand-in counts the text alone, images as 0 tokens."""


class Counted(NamedTuple):
    """An earlier prompt: the guessed tokens, and those that the endpoint counted."""

    guessed: float
    counted: int


class Lengths(NamedTuple):
    """Prompt tokens of some requests together, their relative error, and how both were found."""

    tokens: float
    error: float
    how: str


@dataclass(frozen=True)
class ImageSizes:
    """Sizes of images as they are sent; an image that cannot be opened here counts as one of the
    usual size.
    """

    root: LakePath
    max_side: int

    def find(self, image: Image) -> tuple[float, float]:
        """Width and height in pixels."""
        width, height = self._read(image) or USUAL_SIZE
        return fit_side(width, height, self.max_side)

    def _read(self, image: Image) -> tuple[int, int] | None:
        from PIL import Image as Pillow  # judges of text need none

        if is_remote(image.uri) or not isinstance(self.root, Path):
            return None
        try:
            with Pillow.open(self.root / image.uri) as opened:
                return opened.size
        except (OSError, ValueError, SyntaxError):
            return None


def guess_tokens(request: Request, sizes: ImageSizes) -> float:
    """Tokens at four characters each; images by the model's rule."""
    return count_characters(request) / CHARS_PER_TOKEN + _guess_images(request, sizes)


def measure_prompts(
    requests: Sequence[Request], sizes: ImageSizes, counted: Sequence[Counted]
) -> Lengths:
    """The prompt tokens of requests to one model; `counted` are earlier prompts of that model."""
    if not requests:
        return Lengths(0.0, 0.0, "")
    images = sum(_guess_images(request, sizes) for request in requests)
    encode = find_tokenizer(requests[0].model)
    if len(counted) >= _ENOUGH:
        factor, error = _fit_factor(counted)
        guessed = sum(guess_tokens(request, sizes) for request in requests)
        return Lengths(
            factor * guessed,
            error,
            f"measured on {len(counted):,} replies of the model in the lake",
        )
    if encode is not None:
        text = sum(_count_text(request, encode) for request in requests)
        return Lengths(
            text + images,
            _mix(text, TOKENIZER_ERROR, images, requests[0].model),
            "counted by the model's tokenizer",
        )
    guess = sum(count_characters(request) for request in requests) / CHARS_PER_TOKEN
    how = f"guessed at {CHARS_PER_TOKEN:g} characters a token"
    how += (
        ", images at a constant, since its rule for them is not known"
        if images and not find_image_rule(requests[0].model)
        else ""
    )
    return Lengths(guess + images, _mix(guess, GUESS_ERROR, images, requests[0].model), how)


def find_tokenizer(model: str) -> Callable[[str], int] | None:
    """The function that counts a text's tokens, or None where the model's tokenizer is not on this
    machine (a folder, or Hugging Face's cache).
    """
    if not _is_local(model):
        return None
    try:
        from transformers import AutoTokenizer  # takes seconds, which only a local model needs

        tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True)
    except (ImportError, OSError, ValueError):
        return None
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _is_local(model: str) -> bool:
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    cache = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    return Path(model).is_dir() or (cache / f"models--{model.replace('/', '--')}").is_dir()


def _count_text(request: Request, encode: Callable[[str], int]) -> int:
    return sum(encode(message.text) + _FRAME for message in request.messages) + encode(
        request.scored
    )


def _guess_images(request: Request, sizes: ImageSizes) -> float:
    return guess_image_tokens(request, find_image_rule(request.model), sizes.find)


def find_image_rule(model: str) -> tuple[Any, ...]:
    """The rule of `tasks.backends.tokens` for a model; () where none is known."""
    if model == _STANDIN:
        return ("each", 0)
    listed = find_listed(model)
    return listed.image if listed else ()


def _mix(text: float, text_error: float, images: float, model: str) -> float:
    """The relative error of text and images together, weighted by their tokens."""
    image_error = text_error if find_image_rule(model) else UNKNOWN_IMAGE_ERROR
    return (text * text_error + images * image_error) / (text + images) if text + images else 0.0


def _fit_factor(counted: Sequence[Counted]) -> tuple[float, float]:
    """Counted over guessed tokens, and twice its relative standard error as a ratio of sums
    (Cochran 1977, eq. 6.13).
    """
    guessed, tokens = (
        np.array([prompt.guessed for prompt in counted]),
        np.array([prompt.counted for prompt in counted], float),
    )
    factor = tokens.sum() / guessed.sum()
    residual = tokens - factor * guessed
    error = np.sqrt((residual**2).sum() / (len(counted) - 1) / len(counted)) / tokens.mean()
    return float(factor), max(LEAST_ERROR, float(2 * error))
