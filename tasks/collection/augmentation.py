"""Collector `collect_augmentation`: for an item that has no rubric of its own a rubric, and a
reference answer that deserves its score 5 (Prometheus-Vision, Tables 4 and 5, appendix G.3).

Which of the augmentations a judge sees is the view `core_augmentations`.
"""

from dataclasses import replace
from typing import Literal, NamedTuple

from judgelake.tasks.collection.asking import GenerationOptions, ask, sign_generation
from judgelake.tasks.collection.generations import Drafted, Parts, read_parts, read_rubrics
from judgelake.tasks.collection.rubrics import name_rubric
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply
from judgelake.tasks.judging.templates import neutralise
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.types import Case, Failure, Judge, Models, Reply, Verdict, Wants

VERSION = 1
PROMPT = "collect_augmentation"
CRITERION = "augmentation"
TASKS = ("instruction", "vqa", "caption", "document")
"""The tasks of the judges that grade by rubrics."""
ReferenceMode = Literal["missing", "always"]
_MARKERS = ("[NEXT]", "[END]")
_MOST_REFERENCES = 10
"""So many different references are shown: VQA items have ten."""


@frozen_settings
class AugmentationOptions(GenerationOptions):
    """`references`: which items get a reference answer beside the rubric."""

    references: ReferenceMode = "missing"


class Augmentation(NamedTuple):
    """What was written for an item; `reference` is None where none was asked for."""

    drafted: Drafted
    reference: str | None = None


def list_wants(options: AugmentationOptions) -> Wants:
    """A case an item that has no rubric of its own."""
    return Wants(
        TASKS,
        unit="augmentation",
        criteria=((CRITERION,),),
        image=options.image,
        seed=options.seed,
    )


def call_signature(options: AugmentationOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked of an item, which is part of each case."""
    return {
        **sign_generation("collect_augmentation", VERSION, (PROMPT,), options, models),
        "references": options.references,
    }


def reading_signature(_options: AugmentationOptions) -> dict[str, object]:
    """How replies are read: a rubric in JSON, and a response after a marker."""
    return {"reader": "rubric-next-response", "version": 1}


def collect(case: Case, options: AugmentationOptions, models: Models) -> Judge:
    """Ask once for the rubric and the reference answer."""
    with_reference = options.references == "always" or not case.references
    known = list(dict.fromkeys(case.references))[:_MOST_REFERENCES]
    fields: dict[str, object] = {
        "instruction": neutralise(case.prompt.strip(), _MARKERS)
        or "Describe the image in a caption.",
        "references": [neutralise(reference, _MARKERS) for reference in known],
        "with_reference": with_reference,
    }
    (reply,) = yield [ask(PROMPT, fields, case, options, models)]
    return [read_verdict(reply, with_reference=with_reference)]


def read_verdict(reply: Reply | Failure, *, with_reference: bool) -> Verdict:
    """The rubric with its reference answer, or why there is none."""
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return replace(replied, made={})
    read = read_augmentation(replied.text, with_reference=with_reference)
    if isinstance(read, str):
        return Verdict("unparsed", reason=read, made={})
    rubric = read.drafted.rubric
    made: dict[str, object] = {
        "rubric_id": name_rubric(rubric),
        "description": rubric.criterion,
        "levels": [*rubric.levels],
        "reference": read.reference,
    }
    return Verdict("ok", made=made)


def read_augmentation(text: str, *, with_reference: bool) -> Augmentation | str:
    """One rubric and, where it was asked for, what follows it; or why the reply cannot be read."""
    parts = read_parts(text, "Rubric", "Response") if with_reference else Parts(text, "")
    if isinstance(parts, str):
        return parts
    drafts = read_rubrics(parts.first)
    if len(drafts) != 1:
        return f"the reply holds {len(drafts)} rubrics; expected one"
    drafted = drafts[0]
    if isinstance(drafted, str):
        return drafted
    return Augmentation(drafted, parts.second or None)


COLLECTOR = Protocol(
    "collect_augmentation",
    AugmentationOptions,
    list_wants,
    call_signature,
    reading_signature,
    collect,
    kind="collector",
)
