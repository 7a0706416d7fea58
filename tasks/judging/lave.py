"""LAVE (Mañas et al. 2024): a few-shot LLM rates a short VQA answer against its references on 1-3,
score (r - 1) / 2.

The structure (fields, scale, demonstrations, rationale before rating, `So rating=`) is the paper's,
the wording our own. The paper asks encoder-decoder models (Flan-T5) and chat models (Vicuna,
GPT-3.5) with the same prompt, so it is one text for all: one user message.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.file_cache import cache_files
from judgelake.tasks.judging.claims import give_reason
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply, find_last_digit, settle_rating_at_end
from judgelake.tasks.judging.templates import digest_prompts, render_prompt
from judgelake.tasks.judging.token_reading import find_position, read_token_shares
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import (
    JUDGE,
    Answer,
    AnswerForm,
    Case,
    Decoding,
    Failure,
    Judge,
    Message,
    Models,
    Reply,
    Request,
    Verdict,
    Wants,
)

VERSION = 1
LEVELS = (1, 2, 3)
TASKS = ("vqa", "document")
CRITERION = "correctness"
# demonstrations in `prompts/lave_demos.json`
MOST_SHOTS = 8
PROMPT = "lave"
# `rating=3` as the reader takes it, `So rating` as the prompt asks for it: a space follows the `r`
_RATED = re.compile(r"(?i)\br(?=ating[\s*_]*(?:=|:|\bis\b)[\s*_]*[0-9])|(?<=\bso )r(?=ating\b)")
_RATING_ALONE = Answer("rating=", tuple(map(str, LEVELS)), "rating")
_RATIONALE_FIRST = _RATING_ALONE._replace(opening=" So rating=", explained="rationale")
_TEXTS = ("question", "answer", "rationale")


@frozen_settings
class LaveOptions:
    """Table 3's choices. `filter_refs: at_or_below` also drops references at exactly 25 % (the
    released code's rule).

    `caption` names the captioner whose description of the image is shown; `demos` is a JSON file
    with lists `general` and `binary`; `templates` is a folder with a `lave.txt` of your own.
    `rating: weighted` reads the expected rating over the probabilities of 1, 2 and 3 where the
    rating stands (paper, Scoring Function), and calls a reply `unparsed` whose three hold less than
    `min_mass` together.
    """

    shots: int = MOST_SHOTS
    rationale: bool = True
    filter_refs: Literal[True, False, "at_or_below"] = True
    caption: str | None = None
    demos: SuitePath | None = None
    max_tokens: int = 256
    top_logprobs: int = 0
    rating: Literal["last", "weighted"] = "last"
    min_mass: float = 0.5
    answer_form: AnswerForm = "free"
    templates: SuitePath | None = None

    def __post_init__(self) -> None:
        if self.rating == "weighted" and self.top_logprobs < 1 and self.answer_form == "free":
            raise ValueError(
                f"rating: weighted reads log-probabilities, and top_logprobs is "
                f"{self.top_logprobs}; "
                "expected at least 1, better 5 and more; add `top_logprobs: 5`"
            )
        if not 0 <= self.min_mass <= 1:
            raise ValueError(f"min_mass: {self.min_mass}; expected a probability from 0 to 1")
        if not 0 <= self.shots <= MOST_SHOTS:
            raise ValueError(
                f"shots: {self.shots}; expected 0 to {MOST_SHOTS}, the demonstrations there are"
            )


Demonstrations = Mapping[str, Sequence[Mapping[str, Any]]]


def list_wants(options: LaveOptions) -> Wants:
    """One case an answer, with the caption that the options name beside it."""
    return Wants(TASKS, criteria=((CRITERION,),), captioner=options.caption or "")


def call_signature(options: LaveOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked; its digest is the judge's id."""
    own = (
        {}
        if options.templates is None
        else {"templates": digest_prompts((PROMPT,), options.templates)}
    )
    return {
        "protocol": "lave",
        "version": VERSION,
        "model": models[JUDGE],
        "prompt": _prompt_digest(options),
        "shots": options.shots,
        "rationale": options.rationale,
        "filter_refs": str(options.filter_refs).lower(),
        "caption": options.caption or "none",
        "temperature": 0,
        "max_tokens": options.max_tokens,
        "top_logprobs": options.top_logprobs,
        **own,
    }


def reading_signature(options: LaveOptions) -> dict[str, object]:
    """How replies are read: the last rating 1-3, or the expected one, mapped linearly to 0-1."""
    if options.rating == "weighted":
        return {
            "reader": "weighted-rating-at-end",
            "version": 5,
            "scale": "1-3",
            "min_mass": options.min_mass,
        }
    return {"reader": "rating-at-end", "version": 5, "scale": "1-3"}


def judge(case: Case, options: LaveOptions, models: Models) -> Judge:
    """Ask once, read once. A reply without a rating is `unparsed`, never 2."""
    if not case.references:
        return [
            Verdict(
                "failed", reason="the item has no reference answers; LAVE rates against references"
            )
        ]
    request = Request(
        model=models[JUDGE],
        messages=build_messages(case, options),
        decoding=Decoding(
            temperature=0.0, max_tokens=options.max_tokens, top_logprobs=options.top_logprobs
        ),
        draw=case.sample,
        answer=_RATIONALE_FIRST if options.rationale else _RATING_ALONE,
    )
    (reply,) = yield [request]
    return [read_verdict(reply, options)]


def read_verdict(reply: Reply | Failure, options: LaveOptions) -> Verdict:
    """A verdict from one reply: s = (r - 1) / 2 (paper, Scoring Function)."""
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return replied
    settled = settle_rating_at_end(replied.text, "rating", LEVELS)
    if settled.mark is None:
        reason = give_reason("the reply does not end with a rating of 1, 2 or 3", settled)
        return Verdict("unparsed", rationale=replied.text, reason=reason)
    rating = int(settled.mark.value or 0)
    rationale = replied.text[: settled.mark.start].strip()
    if options.rating == "weighted":
        return _weigh_rating(
            replied, rationale, find_last_digit(replied.text, settled.mark), options.min_mass
        )
    return Verdict("ok", rating=rating, score_0_1=(rating - 1) / 2, rationale=rationale)


def _weigh_rating(reply: Reply, rationale: str, offset: int, min_mass: float) -> Verdict:
    """The expected rating over the tokens 1, 2 and 3 at the place of the rating, renormalised."""
    place = find_position(reply.text, reply.top_logprobs, offset)
    shares = (
        None if place is None else read_token_shares(reply.top_logprobs[place], map(str, LEVELS))
    )
    if shares is None:
        return Verdict(
            "unparsed",
            rationale=reply.text,
            reason="the reply has no log-probabilities of 1, 2 or 3 at its rating",
        )
    verdict = Verdict(
        "ok",
        rationale=rationale,
        probabilities=shares.probabilities,
        captured_mass=shares.captured_mass,
    )
    if shares.captured_mass < min_mass:
        reason = (
            f"1, 2 and 3 hold {shares.captured_mass:.3g} of the probability at the "
            f"rating, less than {min_mass:g}"
        )
        return replace(verdict, status="unparsed", reason=reason)
    return replace(verdict, rating=shares.mean, score_0_1=(shares.mean - 1) / 2)


def build_prompt(case: Case, options: LaveOptions) -> str:
    """The prompt as one text."""
    return "\n\n".join(message.text for message in build_messages(case, options))


def build_messages(case: Case, options: LaveOptions) -> tuple[Message, ...]:
    """Task description, demonstrations, and the case: question, references, candidate answer."""
    binary = is_binary(case.references)
    demos = _prepare_demonstrations(options)["binary" if binary else "general"]
    references = filter_references(case.references, options.filter_refs)
    tested = _make_example(case.prompt, references, case.answer, case.caption, options)
    return render_prompt(
        PROMPT,
        options.templates,
        {**tested, "demos": demos, "binary": binary, "rationale": options.rationale},
    )


def is_binary(references: Sequence[str]) -> bool:
    """Whether the most frequent reference is yes or no (ties: the first in alphabetical order
    counts).
    """
    counts = Counter(reference.strip().lower() for reference in references)
    most = max(counts.values(), default=0)
    return min((text for text, n in counts.items() if n == most), default="") in ("yes", "no")


def filter_references(
    references: Sequence[str], rule: Literal[True, False, "at_or_below"]
) -> tuple[str, ...]:
    """Sorted references, duplicates kept, without those rarer than a quarter of the most frequent
    one.
    """
    counts = Counter(references)
    most = max(counts.values(), default=0)
    if rule is False:
        return tuple(sorted(references))
    keeps = {text for text, n in counts.items() if 4 * n > most or (4 * n == most and rule is True)}
    return tuple(sorted(text for text in references if text in keeps))


@cache_files
def _prepare_demonstrations(options: LaveOptions) -> dict[str, list[dict[str, object]]]:
    """The first `shots` demonstrations of each set, as the template takes them."""
    prepared: dict[str, list[dict[str, object]]] = {}
    for kind, demos in load_demonstrations(options.demos).items():
        prepared[kind] = [
            _make_example(
                demo["question"],
                sorted(demo["references"]),
                demo["answer"],
                demo.get("caption"),
                options,
            )
            | {"rationale": demo["rationale"], "rating": demo["rating"]}
            for demo in demos[: options.shots]
        ]
    return prepared


def _make_example(
    question: str, references: Sequence[str], answer: str, caption: str | None, options: LaveOptions
) -> dict[str, object]:
    """Each text on one line, so that no text of an answer can begin a field of the prompt, and
    without the marker of the verdict, so that none can be repeated as one.
    """
    texts = (question, answer, caption or "not available", *references)
    question, answer, caption, *references = (
        _RATED.sub(lambda marker: f"{marker[0]} ", " ".join(text.split())) for text in texts
    )
    return {
        "question": question,
        "references": references,
        "answer": answer,
        "caption": caption if options.caption else None,
    }


@cache_files
def load_demonstrations(file: Path | None) -> Demonstrations:
    """The curated demonstrations, or the user's; raises SuiteError naming the demonstration that
    lacks a field.
    """
    if file is None:
        text = (
            resources.files("judgelake.tasks.judging.prompts")
            .joinpath("lave_demos.json")
            .read_text(encoding="utf-8")
        )
        return _check_demonstrations(json.loads(text), "lave_demos.json")
    try:
        return _check_demonstrations(json.loads(file.read_text(encoding="utf-8")), str(file))
    except (OSError, ValueError) as error:
        raise SuiteError(
            f"{file}: cannot be read as demonstrations ({error}); expected JSON with 'general' "
            f"and 'binary'"
        ) from None


def _check_demonstrations(demos: Any, name: str) -> Demonstrations:
    for kind in ("general", "binary"):
        if not isinstance(demos, dict) or not isinstance(demos.get(kind), list):
            raise SuiteError(
                f"{name}: has no list {kind!r}; expected 'general' and 'binary'; add it"
            )
        for number, demo in enumerate(demos[kind]):
            wrong = _find_wrong(demo)
            if wrong:
                expected = (
                    f"expected the texts {', '.join(_TEXTS)}, a list of references and "
                    f"a rating of 1, 2 or 3; mend it"
                )
                raise SuiteError(f"{name}: {kind}[{number}] {wrong}; {expected}")
    return dict(demos)


def _find_wrong(demo: Any) -> str | None:
    if not isinstance(demo, dict):
        return f"is {demo!r}"
    missing = [field for field in (*_TEXTS, "references", "rating") if field not in demo]
    if missing:
        return f"lacks {', '.join(missing)}"
    references = demo["references"]
    texts = (
        [*references, *(demo[field] for field in _TEXTS)]
        if isinstance(references, list)
        else [None]
    )
    if not all(isinstance(text, str) for text in texts) or not isinstance(
        demo.get("caption"), str | None
    ):
        return f"has a field that is no text: {demo!r}"
    return (
        f"has the rating {demo['rating']!r}"
        if type(demo["rating"]) is not int or demo["rating"] not in LEVELS
        else None
    )


@cache_files
def _prompt_digest(options: LaveOptions) -> str:
    """Names the wording: the prompts of a fixed general and a fixed binary case."""
    probes = [
        Case("", "", "vqa", "Q", references, "A", "", caption="C")
        for references in (("a",), ("yes",))
    ]
    return digest_json([build_prompt(probe, options) for probe in probes])[:16]


PROTOCOL = Protocol("lave", LaveOptions, list_wants, call_signature, reading_signature, judge)
