"""FLEUR and RefFLEUR (Lee et al. 2024): a VLM scores a text from 0.0 to 1.0; the score is smoothed by the probabilities of its digits.

Task, grading criteria, references (RefFLEUR's alone), caption and the question for the score stand in the order of the released code, the
wording is our own. FLEUR is made for captions; HarmonicEval (table 2) uses it on other tasks too.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tasks.judging.fleur_reading import read_score
from tasks.judging.reasons import ask_reasons
from tasks.judging.task_wording import MARKERS, TASKS, digest_wording, find_missing_box, list_fields, pick_images
from tasks.judging.templates import neutralise, render_prompt
from tasks.judging.types import JUDGE, Case, Decoding, Judge, Message, Models, Request, Verdict
from tasks.judging.wants import ImageMode, Wants

VERSION = 1
CRITERION = "overall"
PROMPT, REASON = "fleur", "fleur_reason"


@dataclass(frozen=True)
class FleurOptions:
    """`references` makes it RefFLEUR; `smoothing: raw` takes the score that the reply says. Decoding is greedy, as in the released code.

    `min_mass` is what digits must hold of the probability at each decimal. `reason` asks why, in a second turn. `seed` is sent to the
    endpoint and draws the images of `swapped`.
    """

    references: bool = False
    image: ImageMode = True
    reason: bool = False
    samples: int = 1
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 16
    reason_max_tokens: int = 512
    top_logprobs: int = 20
    seed: int | None = None
    templates: Path | None = None
    smoothing: Literal["smoothed", "raw"] = "smoothed"
    min_mass: float = 0.5

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ValueError(f"samples: {self.samples}; expected a whole number from 1")
        if not 0 <= self.min_mass <= 1:
            raise ValueError(f"min_mass: {self.min_mass}; expected a probability from 0 to 1")
        if self.smoothing == "smoothed" and self.top_logprobs < 1:
            raise ValueError(
                f"top_logprobs: {self.top_logprobs}; expected at least 5, better 10 and more, for smoothing needs the probabilities of "
                "digits; or read the score that the reply says with `smoothing: raw`"
            )

    @property
    def prompts(self) -> tuple[str, ...]:
        """The names of the prompts that are used."""
        return (PROMPT, REASON) if self.reason else (PROMPT,)


def list_wants(options: FleurOptions) -> Wants:
    """One case an answer and sample."""
    return Wants(
        TASKS,
        criteria=((CRITERION,),),
        samples=options.samples,
        image=options.image,
        regions=options.image != "absent",
        seed=options.seed or 0,
    )


def call_signature(options: FleurOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked; how the image is shown is added by `tasks.judging.protocols`."""
    return {
        "protocol": "fleur",
        "version": VERSION,
        "model": models[JUDGE],
        "prompt": digest_wording(options.prompts, options.templates),
        "references": options.references,
        "temperature": options.temperature,
        "top_p": "none" if options.top_p is None else options.top_p,
        "max_tokens": options.max_tokens,
        "top_logprobs": options.top_logprobs,
        "reason": options.reason_max_tokens if options.reason else "none",
        "seed": "none" if options.seed is None else options.seed,
    }


def reading_signature(options: FleurOptions) -> dict[str, object]:
    """How replies are read."""
    start: dict[str, object] = {"reader": "opening-score", "version": 1, "scale": "0-1", "smoothing": options.smoothing}
    return start | ({"min_mass": options.min_mass} if options.smoothing == "smoothed" else {})


def judge(case: Case, options: FleurOptions, models: Models) -> Judge:
    """Ask once, read once; with `reason`, ask again."""
    lacking = _find_lacking(case, options)
    if lacking is not None:
        return [Verdict("failed", reason=lacking)]
    decoding = Decoding(options.temperature, options.top_p, options.max_tokens, options.top_logprobs, options.seed)
    requests = [Request(models[JUDGE], build_messages(case, options), decoding, draw=case.sample)]
    replies = yield requests
    verdicts = [read_score(replies[0], options.smoothing, options.min_mass)]
    if options.reason:
        why = render_prompt(REASON, options.templates, {})
        verdicts = yield from ask_reasons(requests, replies, verdicts, [why], options.reason_max_tokens)
    return [replace(verdict, criterion=CRITERION) for verdict in verdicts]


def build_messages(case: Case, options: FleurOptions) -> tuple[Message, ...]:
    """The prompt, references one a line and in an order of their own: they are a multiset."""
    references = [neutralise(" ".join(text.split()), MARKERS) for text in sorted(case.references)] if options.references else []
    return render_prompt(PROMPT, options.templates, list_fields(case) | {"references": references}, pick_images(case))


def _find_lacking(case: Case, options: FleurOptions) -> str | None:
    if options.references and not case.references:
        return "the item has no references, which RefFLEUR shows; add references or leave out `references: true`"
    return find_missing_box(case)
