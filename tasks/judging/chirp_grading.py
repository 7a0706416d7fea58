"""CHIRP's grading of one response as correct or not (2025, sections 5.2.2 and B.2, Figures 15 to
17), four methods of it.

`string_match` asks nobody. `llm` compares with the ground truth and sees no image; `vlm` looks at
the image and is not given the ground truth. `cascade` believes the LLM where it says correct, and
asks the VLM where it says incorrect. Where the LLM's reply cannot be read, the cascade ends with
that reason: neither is it taken as incorrect, nor is the VLM asked in its place. The wording is our
own.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from judgelake.tasks.judging.chirp import (
    EXTRACTOR,
    CaseAsker,
    FinalReply,
    Style,
    Turns,
    clean,
)
from judgelake.tasks.judging.chirp_reading import Grade, settle_grade
from judgelake.tasks.judging.claims import give_reason
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.templates import digest_prompts, render_prompt
from judgelake.tasks.metrics.vqa_accuracy import normalise_official, strip_official
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import (
    JUDGE,
    Answer,
    AnswerForm,
    Case,
    Decoding,
    ImageMode,
    Judge,
    Message,
    Models,
    Verdict,
    Wants,
)

VERSION = 1
TASKS = ("vqa", "document", "instruction")
CRITERION = "correctness"
VLM = "vlm"
ENDPOINTS = (EXTRACTOR, VLM)
Method = Literal["string_match", "llm", "vlm", "cascade"]
Match = Literal["gqa", "textvqa"]
RATINGS: dict[Grade, float] = {"correct": 1.0, "partially correct": 0.5, "incorrect": 0.0}
"""On the judge's scale; of these only 1 scores, for partially correct counts as incorrect (Figure
17).
"""
_VLM_PROMPTS: dict[Style, tuple[str, ...]] = {
    "simple": ("chirp_grade_image",),
    "reasoning": ("chirp_grade_image", "chirp_grade_extraction"),
    "two_turn": ("chirp_own_answer", "chirp_grade_again"),
}

_GRADE = Answer(
    "Evaluation: ", ("Correct", "Incorrect", "Partially Correct"), "grade", marked=False
)


@frozen_settings
class ChirpGradingOptions:
    """How a response is graded. `style` is that of the VLM: asked at once, LLaVA-34B's two turns or
    GPT-4V's reasoning.

    `match` is the rule of `string_match`: a reference equals the response, of GQA without case and
    final full stop, of TextVQA under the official normaliser of VQA. `styles`: which answers are
    graded (`long`, `short`), by default all.
    """

    method: Method = "cascade"
    style: Style = "reasoning"
    match: Match = "gqa"
    image: ImageMode = True
    styles: tuple[str, ...] = ()
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int = 1024
    seed: int = 0
    answer_form: AnswerForm = "free"
    templates: SuitePath | None = None

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens: {self.max_tokens}; expected a whole number from 1")
        if self.image == "swapped" and not self.looks:
            raise ValueError(
                "image: swapped; expected with the methods vlm and cascade, which look at images"
            )
        if not self.looks:
            object.__setattr__(self, "image", "absent")

    @property
    def looks(self) -> bool:
        """Whether a VLM is asked."""
        return self.method in ("vlm", "cascade")

    @property
    def prompts(self) -> tuple[str, ...]:
        """The names of the prompts that are used."""
        text = ("chirp_grade_text",) if self.method in ("llm", "cascade") else ()
        return text + (_VLM_PROMPTS[self.style] if self.looks else ())


def list_wants(options: ChirpGradingOptions) -> Wants:
    """One case an answer."""
    return Wants(
        TASKS,
        criteria=((CRITERION,),),
        image=options.image,
        styles=options.styles,
        seed=options.seed,
    )


def call_signature(options: ChirpGradingOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked; of `string_match`, which asks nothing, its rule."""
    start: dict[str, object] = {
        "protocol": "chirp_grading",
        "version": VERSION,
        "method": options.method,
    }
    if options.method == "string_match":
        return start | {"match": options.match}
    vlm = {"vlm": models[VLM]} if options.method == "cascade" else {}
    extractor = (
        {"extractor": models[EXTRACTOR]} if options.looks and options.style == "reasoning" else {}
    )
    return {
        **start,
        "model": models[JUDGE],
        **vlm,
        **extractor,
        "prompt": digest_prompts(options.prompts, options.templates),
        "style": options.style if options.looks else "simple",
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
    }


def reading_signature(_options: ChirpGradingOptions) -> dict[str, object]:
    """How replies are read: partially correct is kept as a rating of 0.5 and scores 0."""
    return {"reader": "chirp-grade", "version": 4, "partially": "incorrect"}


def judge(case: Case, options: ChirpGradingOptions, models: Models) -> Judge:
    """Grade one response. A reply without a clear grade is `unparsed`, never incorrect."""
    if options.method != "vlm" and not case.references:
        return [
            Verdict(
                "failed",
                reason="the item has no reference answers; only the method vlm grades without them",
            )
        ]
    if options.method == "string_match":
        return [
            _make_verdict(
                "correct"
                if match_string(case.answer, case.references, options.match)
                else "incorrect",
                None,
            )
        ]
    asker = CaseAsker(
        models,
        Decoding(options.temperature, options.top_p, options.max_tokens),
        case.sample,
        _GRADE,
    )
    if options.method == "vlm":
        return [_read((yield from _ask_vlm(case, options, asker, JUDGE)))]
    by_llm = _read(
        (
            yield from asker.ask(
                render_prompt("chirp_grade_text", options.templates, _text_fields(case))
            )
        )
    )
    if options.method == "llm" or by_llm.status != "ok" or by_llm.score_0_1 == 1:
        return [by_llm]
    return [_read((yield from _ask_vlm(case, options, asker, VLM)))]


def match_string(answer: str, references: Sequence[str], rule: Match) -> bool:
    """Whether the response equals one of the references, as the benchmark's own evaluation compares
    strings.
    """
    normalise = _normalise_gqa if rule == "gqa" else _normalise_textvqa
    return normalise([answer])[0] in normalise(references)


def _normalise_gqa(texts: Sequence[str]) -> list[str]:
    return [" ".join(text.lower().split()).rstrip(".").rstrip() for text in texts]


def _normalise_textvqa(texts: Sequence[str]) -> list[str]:
    return normalise_official(strip_official(texts))


def _ask_vlm(case: Case, options: ChirpGradingOptions, asker: CaseAsker, endpoint: str) -> Turns:
    """The VLM sees image, question and response; the references stay out of it."""
    fields: dict[str, object] = {
        "question": clean(case.prompt),
        "response": clean(case.answer),
        "reasoning": options.style == "reasoning",
        "image": options.image != "absent",
    }
    if options.style == "two_turn":
        question = render_prompt("chirp_own_answer", options.templates, fields, case.images)
        return asker.ask_after_own_answer(
            question, render_prompt("chirp_grade_again", options.templates, fields), endpoint
        )
    messages = render_prompt("chirp_grade_image", options.templates, fields, case.images)
    if options.style == "reasoning":
        return asker.ask_and_extract(messages, _extraction(options), endpoint)
    return asker.ask(messages, endpoint)


def _extraction(options: ChirpGradingOptions) -> Callable[[str], tuple[Message, ...]]:
    return lambda text: render_prompt(
        "chirp_grade_extraction", options.templates, {"evaluation": text}
    )


def _text_fields(case: Case) -> dict[str, object]:
    counts = Counter(" ".join(reference.split()) for reference in case.references)
    shown = sorted(counts, key=lambda text: (-counts[text], text))
    return {
        "question": clean(case.prompt),
        "references": clean("; ".join(shown)),
        "response": clean(case.answer),
        "several": len(shown) > 1,
    }


def _read(final: FinalReply | Verdict) -> Verdict:
    if isinstance(final, Verdict):
        return final
    settled = settle_grade(final.text)
    grade = next((grade for grade in RATINGS if settled.mark and grade == settled.mark.value), None)
    if grade is None:
        reason = give_reason("the reply does not clearly say correct or incorrect", settled)
        return Verdict("unparsed", rationale=final.rationale, reason=reason)
    return _make_verdict(grade, final.rationale)


def _make_verdict(grade: Grade, rationale: str | None) -> Verdict:
    return Verdict(
        "ok", rating=RATINGS[grade], score_0_1=float(grade == "correct"), rationale=rationale
    )


PROTOCOL = Protocol(
    "chirp_grading",
    ChirpGradingOptions,
    list_wants,
    call_signature,
    reading_signature,
    judge,
    endpoints=ENDPOINTS,
)
