"""Readers of what a model generates for the collection: rubrics, an alignment, an instruction with
its reference answer, a response with its feedback.

A reader returns what it read, or the reason why it cannot be read; it never raises and never
mends a text.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from judgelake.tasks.judging.reading import read_result_marker
from judgelake.tasks.judging.rubrics import N_LEVELS
from judgelake.tasks.types import Rubric

LONGEST_CHARS = 50_000
"""A longer text is not read: no rubric, instruction or response is that long."""
N_KEYWORDS = 12
_LEVELS = range(1, N_LEVELS + 1)
_CRITERION = ("criterion", "criteria", "description", "rubric")
# `score_1`, `Score 1`, `score1_description`, `1` in the normal form of `_normal_key`
_LEVEL_KEY = re.compile(r"(?:score|level)?([1-5])(?:description)?")
_NOT_PLAIN = re.compile(r"[^a-z0-9]")
_ALIGNMENT = re.compile(r"\b(mis)?align(?:s|ed)?\b", re.IGNORECASE)
_END = re.compile(r"\[END\]\s*\Z")
_NEXT = "[NEXT]"
# the headings of the released training prompts, which no generated text may imitate
_HEADING = re.compile(r"^[ \t]*###", re.MULTILINE)


class Drafted(NamedTuple):
    """A rubric as it was brainstormed, with the words that describe it."""

    rubric: Rubric
    keywords: tuple[str, ...] = ()


class Parts(NamedTuple):
    """The two parts of a generation: instruction and reference answer, or response and feedback."""

    first: str
    second: str


def read_rubrics(text: str) -> list[Drafted | str]:
    """The rubrics of a reply, each or why it is none, in the reply's order: a JSON list, or objects
    one after the other, in a code block or not.
    """
    if len(text) > LONGEST_CHARS:
        return [f"the reply is longer than {LONGEST_CHARS:,} characters"]
    return [_read_rubric(record) for record in _find_objects(text)]


def _find_objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The outermost JSON objects that could be rubrics; what is between them is passed over."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        yield from _flatten(value)


def _flatten(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The rubrics of `{"criteria 1": {...}}` and `{"rubrics": [...]}`, or the object itself."""
    inner = [
        item
        for part in value.values()
        for item in (part if isinstance(part, list) else [part])
        if isinstance(item, dict)
    ]
    named = {_normal_key(key) for key in value}
    if inner and not named & {"levels", "score", "scores", "scorerubric", *_CRITERION[:1]}:
        yield from inner
    else:
        yield value


def _read_rubric(record: Mapping[str, Any]) -> Drafted | str:
    keys = {_normal_key(key): value for key, value in record.items()}
    criterion = next((keys[name] for name in _CRITERION if isinstance(keys.get(name), str)), "")
    if not criterion.strip():
        return "the rubric has no text under the key `criterion`"
    levels = _read_levels(keys)
    if isinstance(levels, str):
        return levels
    words = keys.get("keywords")
    keywords = tuple(
        word.strip().lower()
        for word in (words if isinstance(words, list) else [])
        if isinstance(word, str) and word.strip()
    )
    return Drafted(
        Rubric(_tidy(criterion), tuple(_tidy(level) for level in levels)), keywords[:N_KEYWORDS]
    )


def _read_levels(keys: Mapping[str, Any]) -> tuple[str, ...] | str:
    nested = next((keys[name] for name in ("scores", "levels", "score") if name in keys), None)
    if isinstance(nested, dict):
        keys = {_normal_key(key): value for key, value in nested.items()}
        nested = None
    by_level = (
        dict(enumerate(nested, 1))
        if isinstance(nested, list) and len(nested) == N_LEVELS
        else {
            int(match[1]): value
            for key, value in keys.items()
            if (match := _LEVEL_KEY.fullmatch(key))
        }
    )
    texts = [by_level.get(level) for level in _LEVELS]
    lacking = [
        str(level)
        for level, text in zip(_LEVELS, texts, strict=True)
        if not isinstance(text, str) or not text.strip()
    ]
    if lacking:
        return f"the rubric does not say what score {', '.join(lacking)} means"
    levels = tuple(str(text) for text in texts)
    if len({level.strip().lower() for level in levels}) < N_LEVELS:
        return "two scores of the rubric mean the same"
    return levels


def _normal_key(key: str) -> str:
    return _NOT_PLAIN.sub("", str(key).lower())


def read_alignment(text: str) -> bool | None:
    """Whether a rubric fits its image; None where the reply says neither `align` nor `misalign`, or
    both.
    """
    said = {match[1] is None for match in _ALIGNMENT.finditer(text[:LONGEST_CHARS])}
    return said.pop() if len(said) == 1 else None


def read_parts(text: str, first: str, second: str) -> Parts | str:
    """The parts of `<first>: ... [NEXT] <second>: ... [END]`, each with a text, once and in this
    order; the closing marker may be missing.
    """
    if len(text) > LONGEST_CHARS:
        return f"the reply is longer than {LONGEST_CHARS:,} characters"
    sides = _END.sub("", text.strip()).split(_NEXT)
    if len(sides) != 2:
        return f"the reply has {len(sides) - 1} markers {_NEXT}; expected one"
    texts = []
    for side, name in zip(sides, (first, second), strict=True):
        marker, found, rest = side.strip().partition(":")
        if not found or marker.strip(" *#").lower() != name.lower():
            return f"the reply has no `{name}:` at its place"
        if not rest.strip(" *\n"):
            return f"nothing follows `{name}:`"
        texts.append(_tidy(rest.strip().removeprefix("**").strip()))
    return Parts(*texts)


def read_feedback(text: str, score: int) -> str | None:
    """Why feedback cannot be used; None where it ends in the fixed phrase with `score`."""
    read = read_result_marker(text, _LEVELS)
    if read is None:
        return "the feedback does not end in `So the overall score is` and a score from 1 to 5"
    if read.rating != score:
        return f"the feedback ends in the score {read.rating}; expected {score}"
    if text[read.offset + 1 :].strip(" .*)]\n"):
        return "text follows the score at the end of the feedback"
    return None


def count_words(text: str) -> int:
    """Words of a text, cut at blanks."""
    return len(text.split())


def count_sentences(text: str) -> int:
    """Sentences of a text, at least 1: ends of sentences followed by a blank or the end."""
    return max(1, len(re.findall(r"[.!?]+(?=\s|\Z)", text)))


def _tidy(text: str) -> str:
    """A text without blanks around it; a line that begins as a heading of the training prompts does
    no longer.
    """
    return _HEADING.sub("# ##", text.strip())
