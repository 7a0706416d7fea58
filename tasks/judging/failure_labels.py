"""Protocol `failure_labels`: a model says which of LAVE's nine failure categories (Mañas et al.
2024, Table 1) hold of an answer.

The categories and what they mean are the paper's, where people assigned them by hand; the wording
and the marker are our own. A verdict a category: 1 where it holds, 0 where not. They say why string
matching may err, not how good the answer is, so they are nobody's score.
"""

import re
from collections import Counter
from itertools import islice
from typing import Literal

from judgelake.schemas.values import FAILURE_CATEGORIES
from judgelake.tasks.judging.claims import (
    LONGEST_CHARS,
    MOST_MARKS,
    corrects,
    hide_asides,
    is_own,
)
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply
from judgelake.tasks.judging.rubrics import check_caption, find_missing_caption
from judgelake.tasks.judging.templates import digest_prompts, neutralise, render_prompt
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import (
    JUDGE,
    Answer,
    AnswerForm,
    Case,
    Decoding,
    Failure,
    ImageMode,
    Judge,
    Message,
    Models,
    Reply,
    Request,
    Verdict,
    Wants,
)

VERSION = 1
TASKS = ("vqa", "document")
PROMPT = "failure_labels"
MARKERS = ("Image description:", "Question:", "References:", "Candidate:", "Categories:")
"""What no text of the data may bring into the prompt: its fields and the marker of the verdict."""
# judges write the marker in bold, as a heading or as a point: `**Categories:**`
_MARKER = re.compile(r"^[ \t*_#•-]*categories[ \t*_]*:[ \t*_]*", re.IGNORECASE | re.MULTILINE)
# the names come on one line, with commas or `and`, or one a line
_SEPARATOR = re.compile(r"[,;\n]|\s+and\s+")
# one name a line is often a list
_BULLET = re.compile(r"^(?:[-*•]|[0-9]{1,2}[.)])[ \t]+")
# a name may stand in quotation marks, the same on both sides, and end with a full stop
_NAME = re.compile(
    r"""(?P<mark>[`"']|)(?P<name>[a-z][a-z _-]*)(?P=mark)[.!]?""", re.IGNORECASE | re.ASCII
)
_EMPHASIS = " \t*_"
_CATEGORY_ALONE = Answer("Categories: ", (*FAILURE_CATEGORIES, "none"), "category")
_RATIONALE_FIRST = _CATEGORY_ALONE._replace(opening="\nCategories: ", explained="rationale")


@frozen_settings
class FailureLabelsOptions:
    """`rationale`: the model explains before it names the categories. `caption` names whose caption
    stands in for the image.

    Where `answer_form` is not free, the model names one category, the likeliest, or `none`.
    `answers`: the failures alone, where people and string matching differ, as in the paper; or all
    answers, which needs no ratings.
    """

    answers: Literal["failures", "all"] = "failures"
    image: ImageMode = True
    caption: str | None = None
    rationale: bool = True
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int = 512
    seed: int = 0
    answer_form: AnswerForm = "free"
    templates: SuitePath | None = None

    def __post_init__(self) -> None:
        check_caption(self.image, self.caption)


def list_wants(options: FailureLabelsOptions) -> Wants:
    """One case an answer, of which all nine categories are asked at once."""
    failures = options.answers == "failures"
    caption = options.caption or ""
    return Wants(
        TASKS,
        criteria=(FAILURE_CATEGORIES,),
        captioner=caption,
        image=options.image,
        failures=failures,
        seed=options.seed,
    )


def call_signature(options: FailureLabelsOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked."""
    return {
        "protocol": "failure_labels",
        "version": VERSION,
        "model": models[JUDGE],
        "prompt": digest_prompts((PROMPT,), options.templates),
        "rationale": options.rationale,
        "caption": options.caption or "none",
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
    }


def reading_signature(_options: FailureLabelsOptions) -> dict[str, object]:
    """How replies are read: the names after the last marker."""
    return {"reader": "category-list", "version": 4}


def judge(case: Case, options: FailureLabelsOptions, models: Models) -> Judge:
    """Ask once, read once. A reply with anything but known names after its marker is `unparsed`,
    never `none`.
    """
    missing = find_missing_caption(case, options.caption)
    if missing is not None:
        return [missing]
    if not case.references:
        return [
            Verdict(
                "failed",
                reason="the item has no reference answers; the categories compare an answer "
                "with them",
            )
        ]
    decoding = Decoding(options.temperature, options.top_p, options.max_tokens)
    (reply,) = yield [
        Request(
            models[JUDGE],
            build_messages(case, options),
            decoding,
            draw=case.sample,
            answer=_RATIONALE_FIRST if options.rationale else _CATEGORY_ALONE,
        )
    ]
    return read_verdicts(reply)


def build_messages(case: Case, options: FailureLabelsOptions) -> tuple[Message, ...]:
    """The categories, then question, references (each once, the most frequent first) and candidate
    answer, each on one line.
    """
    counts = Counter(_clean(reference) for reference in case.references)
    fields: dict[str, object] = {
        "image": len(case.images),
        "rationale": options.rationale,
        "caption": None if options.caption is None else _clean(case.caption or ""),
        "question": _clean(case.prompt),
        "references": "; ".join(sorted(counts, key=lambda text: (-counts[text], text))),
        "answer": _clean(case.answer),
    }
    return render_prompt(PROMPT, options.templates, fields, case.images)


def read_verdicts(reply: Reply | Failure) -> list[Verdict]:
    """A verdict a category from one reply, or one for all of them that says why there is none."""
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return [replied]
    read = read_categories(replied.text)
    if read is None:
        return [
            Verdict(
                "unparsed",
                rationale=replied.text,
                reason="the reply does not end with a list of known categories",
            )
        ]
    return [
        Verdict(
            "ok",
            rating=float(name in read),
            score_0_1=float(name in read),
            rationale=replied.text,
            criterion=name,
        )
        for name in FAILURE_CATEGORIES
    ]


def read_categories(text: str) -> frozenset[str] | None:
    """The categories after the last `Categories:` at the beginning of a line, to the end of the
    text; `none` alone is no category.

    None where there is no such line, where something follows that is no category, or where an
    earlier line lists others and nothing says that it is corrected.
    """
    if len(text) > LONGEST_CHARS:
        return None
    text = hide_asides(text)
    markers = [*islice(_MARKER.finditer(text), MOST_MARKS + 1)]
    if not markers or len(markers) > MOST_MARKS:
        return None
    last = markers[-1]
    named = _read_names(text[last.end() :])
    if named is None or not is_own(text, *last.span()):
        return None
    ends = [text.find("\n", marker.end()) for marker in markers[:-1]]
    earlier = [
        marker
        for marker, end in zip(markers[:-1], ends, strict=True)
        if _read_names(text[marker.end() : end]) not in (None, named)
        and is_own(text, *marker.span())
    ]
    if earlier and not corrects(text, earlier[-1].end(), last.start()):
        return None
    return named


def _read_names(text: str) -> frozenset[str] | None:
    """The categories that a text lists; None where something in it is no category."""
    listed = text.strip()
    if listed.startswith("[") and listed.endswith("]"):
        listed = listed[1:-1]
    names = {_read_name(part.strip()) for part in _SEPARATOR.split(listed) if part.strip()}
    if names == {"none"}:
        return frozenset()
    return frozenset(names) if names and names <= set(FAILURE_CATEGORIES) else None


def _read_name(part: str) -> str:
    """A name in any case, with spaces or hyphens between its words, in emphasis or quotation marks;
    '' for anything else.
    """
    match = _NAME.fullmatch(_BULLET.sub("", part).strip(_EMPHASIS))
    return re.sub(r"[ _-]+", "_", match["name"].strip(_EMPHASIS).lower()) if match else ""


def _clean(text: str) -> str:
    return neutralise(" ".join(text.split()), MARKERS)


PROTOCOL = Protocol(
    "failure_labels",
    FailureLabelsOptions,
    list_wants,
    call_signature,
    reading_signature,
    judge,
    kind="labeller",
)
