"""The prompts behind the replies on the page, as they were sent.

The page has the question, answers, references and replies of a case already. A prompt is therefore
a template in which one character of Unicode's private use (a slot) stands for each of them; the
paragraphs of templates are kept once. `tasks.reports.rebuilding` makes the requests.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple

from judgelake.tasks.types import Case, Image, Message, Request, Role

Record = Mapping[str, Any]

MOST_CHARACTERS = 1_000_000
"""Characters of all paragraphs together, beyond which the page keeps no further prompt."""
MOST_REPLIES = 20_000
"""Replies whose prompts a page keeps: rebuilding 20,000 takes three seconds."""
TOO_MANY = (
    f"The prompt is not kept in this page: it keeps those of {MOST_REPLIES:,} replies, those "
    f"furthest from people first."
)
NO_ROOM = "The prompt is not kept in this page: its room for prompts is full."
CHANGED = (
    "The prompt cannot be shown: the suite, its data or its prompts have changed since, so that "
    "another request would be sent today."
)
LEFT = "The prompt cannot be shown: the suite no longer has this judge as it was asked."

_QUESTION, _ANSWER, _OTHER = "\ue000", "\ue001", "\ue002"
_FIRST_REFERENCE, _MOST_REFERENCES = 0xE010, 200
_FIRST_REPLY, _MOST_REPLIES = 0xE0E0, 32
_SLOTS = re.compile("[\ue000-\ue0ff]")
_SOME_IMAGE = Image("image", "0" * 64)
_LEAST_COPIED = 20
"""A text of fewer characters may stand in a prompt by chance."""

Texts = tuple[tuple[str, str], ...]
"""The (slot, text) pairs of a case."""


class Asked(NamedTuple):
    """A request that the page shows the reply of, and the texts that stand beside it."""

    judge_id: str
    digest: str
    texts: Texts


class Turn(NamedTuple):
    """A message with slots in its text; its images stand before the text."""

    role: Role
    n_images: int
    text: str


Template = tuple[Turn, ...]
Rebuild = Callable[
    [str, Collection[tuple[str, str]], Collection[Asked]], Mapping[Asked, Template | str]
]
"""From a benchmark, the (item, content digest) of answers and requests to templates, or to the
sentence that says why there is none.
"""


def list_texts(
    question: str, answer: str, other: str, references: Iterable[str], replies: Sequence[str] = ()
) -> Texts:
    """The slots of a case and of a verdict's replies: references once each, in the order of
    JavaScript's `sort`.
    """
    pairs = [(_QUESTION, question), (_ANSWER, answer), (_OTHER, other)]
    said = [(chr(_FIRST_REPLY + k), text) for k, text in enumerate(replies[:_MOST_REPLIES])]
    return tuple(pair for pair in (*pairs, *_number_references(references), *said) if pair[1])


def _number_references(references: Iterable[str]) -> list[tuple[str, str]]:
    ordered = sorted(set(references), key=lambda text: text.encode("utf-16-be", "surrogatepass"))
    return [(chr(_FIRST_REFERENCE + k), text) for k, text in enumerate(ordered[:_MOST_REFERENCES])]


def mark_case(case: Case) -> Case:
    """The case with slots in place of its texts, and without what names it: what a protocol asks of
    it is the template, and many cases have the same. Yes and no stay, since prompts differ for
    them.
    """
    slots = {
        text: slot
        for slot, text in _number_references(case.references)
        if text.strip().lower() not in ("", "yes", "no")
    }
    return replace(
        case,
        item_id="",
        content_digest="",
        other_digest="",
        context_digest="",
        images=tuple(_SOME_IMAGE if image.sha256 else image for image in case.images),
        prompt=case.prompt and _QUESTION,
        answer=case.answer and _ANSWER,
        other_answer=case.other_answer and _OTHER,
        references=tuple(slots.get(text, text) for text in case.references),
    )


def fit_template(request: Request, marked: Request | None, texts: Texts) -> Template:
    """The template that gives exactly the messages of `request` once `texts` are filled in.
    `marked`: the request of the marked case, of which a message is taken where it fits.

    A character that is itself a slot is shown as U+FFFD.
    """
    given = _list_messages(request)
    marked_messages = _list_messages(marked) if marked else ()
    likely = marked_messages if len(marked_messages) == len(given) else (None,) * len(given)
    return tuple(
        Turn(
            message.role,
            len(message.images),
            _fit_text(message.text, None if mark is None else mark.text, texts),
        )
        for message, mark in zip(given, likely, strict=True)
    )


def _list_messages(request: Request) -> tuple[Message, ...]:
    """The messages, and what is written for the model after them."""
    opening = request.answer.opening if request.form == "forced" and request.answer else ""
    written = tuple(Message("assistant", text) for text in (request.scored, opening) if text)
    return (*request.messages, *written)


def _fit_text(text: str, marked: str | None, texts: Texts) -> str:
    likely = (mark for mark in _list_likely(marked) if fill(mark, texts) == text)
    template = next(likely, None) or _SLOTS.sub("\ufffd", text)
    for slot, known in sorted(texts, key=lambda pair: -len(pair[1])):
        if len(known) >= _LEAST_COPIED and not _SLOTS.search(known):
            template = template.replace(known, slot)
    return template


def _list_likely(marked: str | None) -> Iterator[str]:
    """The marked text, and the same with the answers of a pair the other way round: the page names
    them by their ids, a case by their contents.
    """
    if marked is not None:
        yield marked
        if _OTHER in marked or _ANSWER in marked:
            parts = (part.replace(_ANSWER, _OTHER) for part in marked.split(_OTHER))
            yield _ANSWER.join(parts)


def fill(template: str, texts: Texts) -> str:
    """A template's text with `texts` in their slots, as `rows.js` fills it."""
    known = dict(texts)
    return _SLOTS.sub(lambda slot: known.get(slot[0], slot[0]), template)


def find_prompts(
    rebuild: Rebuild | None,
    benchmark: str,
    found: Sequence[Record],
    replies: Sequence[Sequence[Record]],
    answers: Mapping[tuple[str, str], Record],
    most: int = MOST_REPLIES,
) -> list[list[Template | str | None]]:
    """For each row, and each of its `replies`, the template, or why there is none; None where
    nobody rebuilds. `answers`: by item and answer; `most`: how many replies have their prompts
    rebuilt.
    """
    if rebuild is None:
        return [[None] * len(own) for own in replies]
    texts = [_texts_of(row, own, answers) for row, own in zip(found, replies, strict=True)]
    asked = [
        [Asked(row["judge_id"], reply["digest"], known) for reply in own]
        for row, own, known in zip(found, replies, texts, strict=True)
    ]
    chosen = _choose_rows(found, replies, most)
    contents = {
        (found[k]["item_id"], found[k][digest])
        for k in chosen
        for digest in ("content_digest", "other_digest")
        if replies[k] and found[k][digest]
    }
    wanted = {reply for k in chosen for reply in asked[k]}
    rebuilt = rebuild(benchmark, contents, wanted) if wanted else {}
    return [
        [rebuilt.get(reply, CHANGED) if k in chosen else TOO_MANY for reply in own]
        for k, own in enumerate(asked)
    ]


def _choose_rows(
    found: Sequence[Record], replies: Sequence[Sequence[Record]], most: int
) -> frozenset[int]:
    """The places of rows that have at most so many replies together: those without a score first,
    then those furthest from people.
    """
    furthest = sorted(range(len(found)), key=lambda k: -_distance(found[k]))
    totals = accumulate(len(replies[k]) for k in furthest)
    return frozenset(k for k, total in zip(furthest, totals, strict=True) if total <= most)


def _distance(row: Record) -> float:
    if row["score"] is None:
        return math.inf
    return 0.0 if row["people"] is None else abs(float(row["score"]) - float(row["people"]))


def _texts_of(
    row: Record, replies: Sequence[Record], answers: Mapping[tuple[str, str], Record]
) -> Texts:
    if not replies:
        return ()
    first = answers.get((row["item_id"], row["answer_a"]), {})
    other = answers.get((row["item_id"], row["answer_b"]), {})
    texts = (first.get("prompt") or "", first.get("text") or "", other.get("text") or "")
    said = [reply["text"] or "" for reply in replies]
    return list_texts(*texts, first.get("references") or (), said)


@dataclass(slots=True)
class PromptIndex:
    """The page's prompts by number: `prompts` are of numbers of `pieces`, paragraphs of templates;
    `reasons` say why there is none, under the numbers -1, -2 and so on.
    """

    pieces: dict[str, int] = field(default_factory=dict)
    prompts: list[list[Any]] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)
    numbers: dict[Template, int] = field(default_factory=dict)
    n_characters: int = 0

    def number(self, prompt: Template | str | None) -> int | None:
        """The number under which the page shows a prompt; None for None."""
        if prompt is None:
            return None
        if isinstance(prompt, str):
            return -1 - self.reasons.setdefault(prompt, len(self.reasons))
        if prompt not in self.numbers:
            turns = [(role, n_images, text.split("\n\n")) for role, n_images, text in prompt]
            new = {piece for _, _, pieces in turns for piece in pieces} - self.pieces.keys()
            n_new = sum(map(len, new)) + sum(len(pieces) for _, _, pieces in turns)
            if self.n_characters + n_new > MOST_CHARACTERS:
                return self.number(NO_ROOM)
            self.n_characters += n_new
            self.numbers[prompt] = len(self.prompts)
            self.prompts.append(
                [[*turn, [self._number_piece(text) for text in pieces]] for *turn, pieces in turns]
            )
        return self.numbers[prompt]

    def _number_piece(self, text: str) -> int:
        return self.pieces.setdefault(text, len(self.pieces))

    def pack(self) -> dict[str, Any]:
        """What the page's index holds of it."""
        return {
            "prompts": self.prompts,
            "pieces": list(self.pieces),
            "unkept": list(self.reasons),
        }
