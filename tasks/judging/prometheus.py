"""Prometheus-Vision (Lee et al. 2024): a VLM grades a response by one rubric, feedback first, then
a score from 1 to 5; (n - 1) / 4 in 0-1.

Fields, their order, levels and markers are those of the paper's evaluation prompt (appendix J.2),
the wording our own. Judges that read text only get a caption in place of the image (appendix G.1):
`image: absent` with `caption`.
"""

from typing import Literal

from judgelake.tasks.judging.claims import give_reason
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply, read_result_marker, settle_result_marker
from judgelake.tasks.judging.rubrics import (
    N_LEVELS,
    check_caption,
    find_missing_caption,
    find_rubric,
    list_criteria,
    name_rubrics,
)
from judgelake.tasks.judging.templates import digest_prompts, neutralise, render_prompt
from judgelake.tasks.judging.token_reading import read_token_shares
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
    Rubric,
    Verdict,
    Wants,
)

VERSION = 1
TASKS = ("instruction", "vqa", "caption", "document")
PROMPT = "prometheus"
HEADINGS = (
    "Task",
    "Image description",
    "Instruction",
    "Response",
    "Reference answer",
    "Rubric",
    "Feedback",
)
MARKERS = (*(f"###{heading}" for heading in HEADINGS), "[RESULT]", "overall score is")
"""What no text of the data may bring into the prompt: its delimiters, and the markers of the
verdict.
"""
_SCORE_ALONE = Answer("[RESULT] ", tuple(map(str, range(1, N_LEVELS + 1))), "score")
_FEEDBACK_FIRST = _SCORE_ALONE._replace(opening=" [RESULT] ", explained="feedback")


@frozen_settings
class PrometheusOptions:
    """Decoding and three inferences a case are the paper's (appendix E.2, section 3.3).

    `rubric_file` is a YAML or JSON list of `{id, criterion, levels}`: every answer is graded by
    each of them, else by its item's own rubrics. `caption` names whose caption stands in for the
    image. `templates` is a folder with a `prometheus.txt` of your own. Where `answer_form` is not
    free, `rating: weighted` takes the expected score over the probabilities of 1 to 5, and
    `feedback: false` asks for the score without any feedback.
    """

    image: ImageMode = True
    caption: str | None = None
    rubric_file: SuitePath | None = None
    samples: int = 3
    temperature: float = 1.0
    top_p: float = 0.9
    max_tokens: int = 2048
    seed: int | None = None
    rating: Literal["last", "weighted"] = "last"
    answer_form: AnswerForm = "free"
    feedback: bool = True
    templates: SuitePath | None = None

    def __post_init__(self) -> None:
        check_caption(self.image, self.caption)
        for key, usual in (("rating", "last"), ("feedback", True)):
            if getattr(self, key) != usual and self.answer_form == "free":
                raise ValueError(
                    f"{key}: {str(getattr(self, key)).lower()}; expected with `answer_form`: "
                    "forced, structured or auto, in which the scores' probabilities are read; "
                    "add one"
                )
        if self.samples < 1:
            raise ValueError(f"samples: {self.samples}; expected a whole number from 1")


def list_wants(options: PrometheusOptions) -> Wants:
    """A case for each rubric and sample of an answer."""
    return Wants(
        TASKS,
        criteria=list_criteria(options.rubric_file),
        samples=options.samples,
        captioner=options.caption or "",
        image=options.image,
        rubrics=options.rubric_file is None,
        seed=options.seed or 0,
    )


def call_signature(options: PrometheusOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked; how the image is shown and the answer's form are added
    by `tasks.judging.protocols`.
    """
    feedback = {} if options.feedback else {"feedback": "none"}
    return {
        "protocol": "prometheus",
        "version": VERSION,
        "model": models[JUDGE],
        "prompt": digest_prompts((PROMPT,), options.templates),
        "rubrics": name_rubrics(options.rubric_file),
        "caption": options.caption or "none",
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
        "seed": "none" if options.seed is None else options.seed,
        **feedback,
    }


def reading_signature(options: PrometheusOptions) -> dict[str, object]:
    """How replies are read: the last marked score, or the expected one, mapped linearly to 0-1."""
    reader = "result-marker" if options.rating == "last" else "weighted-result-marker"
    return {"reader": reader, "version": 4, "scale": f"1-{N_LEVELS}"}


def judge(case: Case, options: PrometheusOptions, models: Models) -> Judge:
    """Ask once, read once; the feedback is the verdict's rationale."""
    rubric = find_rubric(case, options.rubric_file)
    if isinstance(rubric, Verdict):
        return [rubric]
    missing = find_missing_caption(case, options.caption)
    if missing is not None:
        return [missing]
    decoding = Decoding(options.temperature, options.top_p, options.max_tokens, seed=options.seed)
    (reply,) = yield [
        Request(
            models[JUDGE],
            build_messages(case, rubric, options),
            decoding,
            draw=case.sample,
            answer=_FEEDBACK_FIRST if options.feedback else _SCORE_ALONE,
        )
    ]
    return [read_verdict(reply, options.rating)]


def read_verdict(reply: Reply | Failure, rating: Literal["last", "weighted"] = "last") -> Verdict:
    """A verdict from one reply, on the scale 1 to 5; `weighted`: the expected score over the
    probabilities at its end, where it has them.
    """
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return replied
    read = read_result_marker(replied.text, range(1, N_LEVELS + 1))
    if read is None:
        reason = give_reason(
            f"the reply gives no score from 1 to {N_LEVELS} after [RESULT] or `So the "
            f"overall score is`",
            settle_result_marker(replied.text, range(1, N_LEVELS + 1)),
        )
        return Verdict("unparsed", rationale=replied.text, reason=reason)
    shares = (
        read_token_shares(replied.top_logprobs[-1], _SCORE_ALONE.labels)
        if rating == "weighted" and replied.top_logprobs
        else None
    )
    if rating == "weighted" and shares is None:
        reason = "the reply has no log-probabilities of its score"
        return Verdict("unparsed", rationale=replied.text, reason=reason)
    value = read.rating if shares is None else shares.mean
    return Verdict(
        "ok",
        rating=value,
        score_0_1=(value - 1) / (N_LEVELS - 1),
        rationale=read.rationale,
    )


def build_messages(case: Case, rubric: Rubric, options: PrometheusOptions) -> tuple[Message, ...]:
    """Task, instruction, response, reference answer (the item's first, where it has one) and
    rubric; the image before them.
    """
    return render_prompt(
        PROMPT, options.templates, list_fields(case, rubric, options.caption, MARKERS), case.images
    )


def list_fields(
    case: Case, rubric: Rubric, captioner: str | None, markers: tuple[str, ...]
) -> dict[str, object]:
    """What the template takes, without the prompt's own delimiters; `image` is the number of images
    shown.
    """
    return {
        "image": len(case.images),
        "caption": None if captioner is None else neutralise(case.caption or "", markers),
        "instruction": neutralise(case.prompt, markers),
        "response": neutralise(case.answer, markers),
        "reference": neutralise(case.references[0], markers) if case.references else None,
        "criterion": neutralise(rubric.criterion, markers),
        "levels": [neutralise(level, markers) for level in rubric.levels],
    }


PROTOCOL = Protocol(
    "prometheus", PrometheusOptions, list_wants, call_signature, reading_signature, judge
)
