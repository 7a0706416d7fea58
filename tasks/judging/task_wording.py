"""What a judged text is called, and what it is about, in each kind of task; for the prompts that
rate texts of all of them.

HarmonicEval's task-dependent wording (Ohi et al. 2024, section 2.1 and appendix C.1: "caption"
becomes "answer" for VQA), in our own words.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from judgelake.tasks.digests import digest_json
from judgelake.tasks.judging.templates import digest_prompts, neutralise
from judgelake.tasks.types import Case, Failure, Image, Message, Reply, Request, Verdict


class Wording(NamedTuple):
    """`noun`: what the text is; `rated`: as what it is rated; `does`: what it should do;
    `material`: what it goes by; `asked_by`: what asks.
    """

    noun: str
    rated: str
    does: str
    material: str
    asked_by: str | None


WORDINGS: dict[str, Wording] = {
    "caption": Wording("caption", "caption for the image", "describe the image", "the image", None),
    "vqa": Wording(
        "answer",
        "answer to the question about the image",
        "respond to the question about the image",
        "the image and the question",
        "question",
    ),
    "document": Wording(
        "answer",
        "answer to the question about the document in the image",
        "respond to the question about the document",
        "the document and the question",
        "question",
    ),
    "referring": Wording(
        "expression",
        "expression for the object in the red box in the image",
        "describe the object in the red box",
        "the object in the red box",
        None,
    ),
    "instruction": Wording(
        "response",
        "response to the instruction about the image",
        "follow the instruction about the image",
        "the image and the instruction",
        "instruction",
    ),
}
TASKS = tuple(WORDINGS)
_PARTS = (
    "Text",
    "Question",
    "Instruction",
    "References",
    *(wording.noun.title() for wording in WORDINGS.values()),
)
MARKERS = (
    *(f"[{part}]" for part in dict.fromkeys(_PARTS)),
    *(f"[End of {part}]" for part in dict.fromkeys(_PARTS)),
    "Evaluation criterion:",
    "Rating scale:",
    "Grading criteria:",
    "Score (from 0.0 to 1.0):",
    "[system]",
    "[user]",
    "[assistant]",
)
"""The delimiters of these prompts, which no text of the data may bring into them."""


def list_fields(case: Case) -> dict[str, object]:
    """What templates take of a case: `image` is the number of images shown, `question` None where
    the task shows none.
    """
    wording = WORDINGS[case.task]
    n_boxes = sum(len(image.boxes) for image in case.images)
    return {
        "task": case.task,
        "image": len(case.images),
        "noun": wording.noun,
        "rated": _count_nouns(wording.rated, len(case.images), n_boxes),
        "does": _count_nouns(wording.does, len(case.images), n_boxes),
        "material": _count_nouns(wording.material, len(case.images), n_boxes),
        "asked_by": wording.asked_by,
        "question": neutralise(case.prompt, MARKERS) if wording.asked_by else None,
        "text": neutralise(case.answer, MARKERS),
    }


def pick_images(case: Case) -> tuple[Image, ...]:
    """The images to be shown; only a referring expression is about the boxes, elsewhere they would
    be noise.
    """
    if case.task == "referring":
        return case.images
    return tuple(replace(image, boxes=()) if image.boxes else image for image in case.images)


def find_missing_box(case: Case) -> str | None:
    """Why a text about the object in the red box cannot be rated by its image; None where it
    can.
    """
    if case.task != "referring" or not case.images or any(image.boxes for image in case.images):
        return None
    return (
        "the item has no region to be drawn on its image; an expression is rated by the "
        "object in the red box"
    )


def digest_wording(names: tuple[str, ...], folder: Path | None) -> str:
    """16 hex digits that name the wording of prompts, the task-dependent words among it."""
    return digest_json([digest_prompts(names, folder), WORDINGS])[:16]


def _count_nouns(text: str, n_images: int, n_boxes: int) -> str:
    if n_images > 1:
        text = text.replace("the image", "the images")
    return (
        text.replace("the object in the red box", "the objects in the red boxes")
        if n_boxes > 1
        else text
    )


def ask_reasons(
    asked: Sequence[Request],
    replies: Sequence[Reply | Failure],
    verdicts: Sequence[Verdict],
    question: Sequence[tuple[Message, ...]],
    max_tokens: int,
) -> Generator[list[Request], list[Reply | Failure], list[Verdict]]:
    """The verdicts; those with a score also have the reason that the judge gives for it in a second
    turn.

    The score does not depend on the reason: where none comes, the verdict's `reason` says so.
    """
    wanted = [place for place, verdict in enumerate(verdicts) if verdict.status == "ok"]
    if not wanted:
        return list(verdicts)
    reasons = yield [
        _follow_up(asked[place], replies[place], question[place], max_tokens) for place in wanted
    ]
    explained = dict(zip(wanted, reasons, strict=True))
    return [
        _explain(verdict, explained[place]) if place in explained else verdict
        for place, verdict in enumerate(verdicts)
    ]  # fmt: skip


def _follow_up(
    asked: Request, reply: Reply | Failure, question: tuple[Message, ...], max_tokens: int
) -> Request:
    reply_text = reply.text if isinstance(reply, Reply) else ""
    messages = (*asked.messages, Message("assistant", reply_text), *question)
    return replace(
        asked,
        messages=messages,
        answer=None,
        decoding=replace(asked.decoding, max_tokens=max_tokens, top_logprobs=0),
    )


def _explain(verdict: Verdict, reply: Reply | Failure) -> Verdict:
    if isinstance(reply, Failure):
        return replace(verdict, reason=f"scored, but no reason came: {reply.reason}")
    if reply.refusal or not reply.text.strip():
        return replace(
            verdict, reason=f"scored, but no reason came: {reply.refusal or 'the reply is empty'}"
        )
    return replace(verdict, rationale=reply.text.strip())
