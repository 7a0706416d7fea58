"""Protocol `llava_bench`: a judge scores two answers from 1 to 10, two numbers on one line and an
explanation after it.

This is how LLaVA-Bench and Vicuna's evaluation score answers, one of them a reference answer. The
judge sees the image, or what LLaVA-Bench gives a judge of texts in its place: a description of it
(`image: absent` with `caption`).
"""

from typing import Literal

from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply, read_two_numbers
from judgelake.tasks.judging.rubrics import check_caption, find_missing_caption
from judgelake.tasks.judging.templates import digest_prompts, neutralise, render_prompt
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import (
    JUDGE,
    Case,
    Choice,
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
TASKS = ("instruction", "vqa", "caption", "document")
CRITERION = "overall"
PROMPT = "llava_bench"
LOW, HIGH = 0.0, 10.0  # asked for 1 to 10, judges give a 0 now and then
_PARTS = ("Context", "Question", "Answer 1", "Answer 2")
MARKERS = tuple(f"[{opening}{part}]" for part in _PARTS for opening in ("", "End of "))
"""What no text of the data may bring into the prompt: its delimiters."""


@frozen_settings
class LlavaBenchOptions:
    """`matchups`: each answer against the item's first reference, or pairs of answers (all, or
    those that people compared).

    `caption` names whose caption stands in for the image. `seed` is sent to the endpoint. Without
    `both_orders` the reference is shown first, as LLaVA-Bench does, and the order of two answers is
    drawn by `seed`.
    """

    image: ImageMode = True
    caption: str | None = None
    matchups: Literal["reference", "all", "human"] = "reference"
    both_orders: bool = True
    samples: int = 1
    temperature: float = 0.2
    top_p: float | None = None
    max_tokens: int = 1024
    seed: int | None = None
    templates: SuitePath | None = None

    def __post_init__(self) -> None:
        check_caption(self.image, self.caption)
        if self.samples < 1:
            raise ValueError(f"samples: {self.samples}; expected a whole number from 1")


def list_wants(options: LlavaBenchOptions) -> Wants:
    """A case for each pair, order and sample."""
    return Wants(
        TASKS,
        unit="pair",
        criteria=((CRITERION,),),
        samples=options.samples,
        captioner=options.caption or "",
        image=options.image,
        matchups=options.matchups,
        both_orders=options.both_orders,
        seed=options.seed or 0,
    )


def call_signature(options: LlavaBenchOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked; which pairs and orders are asked about is no part of
    it.
    """
    return {
        "protocol": "llava_bench",
        "version": VERSION,
        "model": models[JUDGE],
        "prompt": digest_prompts((PROMPT,), options.templates),
        "caption": options.caption or "none",
        "temperature": options.temperature,
        "top_p": "none" if options.top_p is None else options.top_p,
        "max_tokens": options.max_tokens,
        "seed": "none" if options.seed is None else options.seed,
    }


def reading_signature(_options: LlavaBenchOptions) -> dict[str, object]:
    """How replies are read: two numbers, the higher one wins."""
    return {"reader": "two-numbers", "version": 3, "scale": f"{LOW:g}-{HIGH:g}"}


def judge(case: Case, options: LlavaBenchOptions, models: Models) -> Judge:
    """Ask once, read once."""
    missing = find_missing_caption(case, options.caption)
    if missing is not None:
        return [missing]
    decoding = Decoding(options.temperature, options.top_p, options.max_tokens, seed=options.seed)
    (reply,) = yield [
        Request(models[JUDGE], build_messages(case, options), decoding, draw=case.sample)
    ]
    return [read_verdict(reply, case.shown_first)]


def read_verdict(reply: Reply | Failure, shown_first: str) -> Verdict:
    """A verdict from one reply, in terms of a and b: equal scores are a tie."""
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return replied
    scores = read_two_numbers(replied.text, LOW, HIGH)
    if scores is None:
        return Verdict(
            "unparsed",
            rationale=replied.text,
            reason="the reply does not clearly give two scores from 1 to 10",
        )
    score_a, score_b = reversed(scores) if shown_first == "b" else scores
    choice: Choice = "tie" if score_a == score_b else "a" if score_a > score_b else "b"
    return Verdict("ok", choice=choice, score_a=score_a, score_b=score_b, rationale=replied.text)


def build_messages(case: Case, options: LlavaBenchOptions) -> tuple[Message, ...]:
    """Context, question and the two answers in the case's order; the image before them."""
    answers = (case.answer, case.other_answer or "")
    first, second = reversed(answers) if case.shown_first == "b" else answers
    fields: dict[str, object] = {
        "image": len(case.images),
        "caption": None if options.caption is None else neutralise(case.caption or "", MARKERS),
        "question": neutralise(case.prompt, MARKERS),
        "answer_1": neutralise(first, MARKERS),
        "answer_2": neutralise(second, MARKERS),
    }
    return render_prompt(PROMPT, options.templates, fields, case.images)


PROTOCOL = Protocol(
    "llava_bench", LlavaBenchOptions, list_wants, call_signature, reading_signature, judge
)
