"""Protocol `answer`: a model answers the items of a benchmark, so that its answers can be judged.

The answer is the whole reply. What the suite says of answerers is `tasks.suite.answerers`; which
answers count is the view `stg_answers`.
"""

import re
from dataclasses import replace
from typing import Literal

from judgelake.tasks.digests import digest_json
from judgelake.tasks.judging.cases import find_missing_image
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply, forgive_cut
from judgelake.tasks.judging.templates import digest_prompts, read_prompt, render_prompt
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import (
    JUDGE,
    Case,
    Decoding,
    Failure,
    ImageMode,
    Judge,
    Models,
    Reply,
    Request,
    Verdict,
    Wants,
)

VERSION = 1
NAME = "answer"
TASKS = ("vqa", "caption", "document", "referring", "instruction")
CRITERION = "answer"
PROMPTS = ("answer_short", "answer_long", "answer_task")
Style = Literal["short", "long"]
STYLE_OF: dict[str, Style] = {
    "vqa": "short",
    "document": "short",
    "referring": "short",
    "caption": "long",
    "instruction": "long",
}
"""Item task -> the style of an answer to the prompt of that task."""
# control characters but tab, line feed and carriage return
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@frozen_settings
class AnswerOptions:
    """`prompt`: what is asked for beside the item's own prompt: a `short` answer, a `long` one, or
    what the item's task calls for (`task`). `style` is recorded with the answers; by default that
    of the prompt, of `task` short for vqa, document and referring items and long for captions and
    instructions. `recorded_as`: the name of the model in the table `answers`, by default `model`.

    `samples`: answers to each item. `image: absent` shows no image, `image: swapped` that of
    another item. `keep_truncated` takes an answer that ended at `max_tokens`. `templates` is a
    folder with an `answer_short.txt`, `answer_long.txt` or `answer_task.txt` of your own. `seed`:
    that of the draws; each sample has a draw of its own.
    """

    prompt: Literal["task", "short", "long"] = "task"
    style: Style | None = None
    recorded_as: str | None = None
    samples: int = 1
    image: ImageMode = True
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 512
    seed: int | None = None
    keep_truncated: bool = False
    templates: SuitePath | None = None

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ValueError(f"samples: {self.samples}; expected a whole number from 1")
        if self.samples > 1 and self.temperature == 0:
            raise ValueError(
                f"samples: {self.samples}; expected 1 at `temperature: 0`, where all samples are "
                f"alike; give a temperature above 0"
            )
        if self.recorded_as is not None and not self.recorded_as.strip():
            raise ValueError("recorded_as: ''; expected the name of a model; give one")

    @property
    def template(self) -> str:
        """The name of its prompt."""
        return f"answer_{self.prompt}"

    def find_style(self, task: str) -> Style:
        """The style that is recorded with an answer to an item of a task."""
        if self.style is not None:
            return self.style
        return STYLE_OF[task] if self.prompt == "task" else self.prompt


def list_wants(options: AnswerOptions) -> Wants:
    """A case an item and sample; the boxes of referring items are drawn into the image."""
    return Wants(
        TASKS,
        unit="item",
        criteria=((CRITERION,),),
        samples=options.samples,
        image=options.image,
        regions=options.image is True,
        seed=options.seed or 0,
    )


def call_signature(options: AnswerOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked of an item."""
    digest_prompts(PROMPTS, options.templates)  # refuses a file that replaces none of them
    text = read_prompt(options.template, options.templates)
    return {
        "protocol": NAME,
        "version": VERSION,
        "model": models[JUDGE],
        "prompt": f"{options.prompt}-{digest_json(text)[:16]}",
        "temperature": options.temperature,
        "top_p": "none" if options.top_p is None else options.top_p,
        "max_tokens": options.max_tokens,
        "seed": "none" if options.seed is None else options.seed,
    }


def reading_signature(options: AnswerOptions) -> dict[str, object]:
    """How replies are read, and what is recorded beside them."""
    return {
        "reader": "whole-text",
        "version": 1,
        "recorded_as": options.recorded_as or "model",
        "style": options.style or "of the prompt",
        "keep_truncated": options.keep_truncated,
    }


def answer(case: Case, options: AnswerOptions, models: Models) -> Judge:
    """Ask once; the whole reply is the answer."""
    made = {
        "model": options.recorded_as or models[JUDGE],
        "style": options.find_style(case.task),
    }
    missing = find_missing_image(case, sees_images=options.image != "absent")
    if missing is not None:
        return [Verdict("missing_image", reason=missing, made=made)]
    fields: dict[str, object] = {"task": case.task, "prompt": case.prompt.strip()}
    messages = render_prompt(options.template, options.templates, fields, case.images)
    decoding = Decoding(options.temperature, options.top_p, options.max_tokens, seed=options.seed)
    (reply,) = yield [Request(models[JUDGE], messages, decoding, draw=case.sample)]
    return [replace(read_verdict(reply, keep_truncated=options.keep_truncated), made=made)]


def read_verdict(reply: Reply | Failure, *, keep_truncated: bool = False) -> Verdict:
    """The answer without blanks around it and control characters; an empty reply is none."""
    given = forgive_cut(reply)[0] if keep_truncated else reply
    replied = check_reply(given)
    if isinstance(replied, Verdict):
        return replied
    text = _CONTROLS.sub("", replied.text).strip()
    if not text:
        return Verdict("unparsed", reason="the reply is empty")
    return Verdict("ok", text=text)


ANSWERER = Protocol(
    NAME,
    AnswerOptions,
    list_wants,
    call_signature,
    reading_signature,
    answer,
    handles_missing_images=True,
    kind="answerer",
)
