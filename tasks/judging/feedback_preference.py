"""Which of two judges' feedbacks on one response is the better one (Prometheus-Vision, section 3.2
and appendix G.4, where people choose).

What the people saw is shown: instruction, image, response, reference answer, rubric, feedback A and
B. They chose one; `ties` allows neither.
"""

from judgelake.tasks.judging import prometheus
from judgelake.tasks.judging.claims import give_reason
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply, settle_marked_choice
from judgelake.tasks.judging.rubrics import (
    check_caption,
    find_missing_caption,
    find_rubric,
    list_criteria,
    name_rubrics,
)
from judgelake.tasks.judging.templates import digest_prompts, neutralise, render_prompt
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import (
    JUDGE,
    Answer,
    AnswerForm,
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
    Rubric,
    Verdict,
    Wants,
)

VERSION = 1
PROMPT = "feedback_preference"
MARKERS = (*prometheus.MARKERS, "###Reasons")

_CHOICE = Answer(" [RESULT] ", ("A", "B"), "better", explained="reasons")
_CHOICE_OR_TIE = _CHOICE._replace(labels=("A", "B", "TIE"))


@frozen_settings
class FeedbackPreferenceOptions:
    """`feedback_of` names the two judges, a and b. `rubric_file` is theirs, where their rubrics
    came from a file.
    """

    feedback_of: tuple[str, ...]
    image: ImageMode = True
    caption: str | None = None
    rubric_file: SuitePath | None = None
    ties: bool = False
    both_orders: bool = True
    samples: int = 1
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 2048
    seed: int | None = None
    answer_form: AnswerForm = "free"
    templates: SuitePath | None = None

    def __post_init__(self) -> None:
        check_caption(self.image, self.caption)
        if len(set(self.feedback_of)) != 2 or len(self.feedback_of) != 2:
            raise ValueError(
                f"feedback_of: {', '.join(self.feedback_of)}; expected the names of two "
                f"judges, such as [mini, large]"
            )
        if self.samples < 1:
            raise ValueError(f"samples: {self.samples}; expected a whole number from 1")


def list_wants(options: FeedbackPreferenceOptions) -> Wants:
    """A case for each rubric, order and sample of an answer that both judges wrote feedback on."""
    return Wants(
        prometheus.TASKS,
        unit="feedback",
        criteria=list_criteria(options.rubric_file),
        samples=options.samples,
        captioner=options.caption or "",
        image=options.image,
        rubrics=options.rubric_file is None,
        both_orders=options.both_orders,
        feedback_of=options.feedback_of,
        seed=options.seed or 0,
    )


def call_signature(options: FeedbackPreferenceOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked; the feedbacks themselves are part of each case."""
    return {
        "protocol": "feedback_preference",
        "version": VERSION,
        "model": models[JUDGE],
        "prompt": digest_prompts((PROMPT,), options.templates),
        "feedback_of": " and ".join(options.feedback_of),
        "rubrics": name_rubrics(options.rubric_file),
        "caption": options.caption or "none",
        "ties": options.ties,
        "temperature": options.temperature,
        "top_p": "none" if options.top_p is None else options.top_p,
        "max_tokens": options.max_tokens,
        "seed": "none" if options.seed is None else options.seed,
    }


def reading_signature(_options: FeedbackPreferenceOptions) -> dict[str, object]:
    """How replies are read: the last marked letter."""
    return {"reader": "marked-choice", "version": 4}


def judge(case: Case, options: FeedbackPreferenceOptions, models: Models) -> Judge:
    """Ask once, read once; A is the feedback that is shown first."""
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
            answer=_CHOICE_OR_TIE if options.ties else _CHOICE,
        )
    ]
    return [read_verdict(reply, case.shown_first, options.ties)]


def read_verdict(reply: Reply | Failure, shown_first: str, ties: bool) -> Verdict:
    """A verdict from one reply, in terms of a and b."""
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return replied
    settled = settle_marked_choice(replied.text, ("A", "B", "TIE") if ties else ("A", "B"))
    if settled.mark is None:
        named = "A, B or TIE" if ties else "A or B"
        reason = give_reason(f"the reply does not name {named} after [RESULT]", settled)
        return Verdict("unparsed", rationale=replied.text, reason=reason)
    shown: dict[str, Choice] = {
        "A": "b" if shown_first == "b" else "a",
        "B": "a" if shown_first == "b" else "b",
        "TIE": "tie",
    }
    return Verdict("ok", choice=shown[str(settled.mark.value)], rationale=replied.text)


def build_messages(
    case: Case, rubric: Rubric, options: FeedbackPreferenceOptions
) -> tuple[Message, ...]:
    """Prometheus-Vision's fields with the two feedbacks after them, in the case's order."""
    first, second = reversed(case.feedbacks) if case.shown_first == "b" else case.feedbacks
    fields: dict[str, object] = {
        **prometheus.list_fields(case, rubric, options.caption, MARKERS),
        "feedback_a": neutralise(first, MARKERS),
        "feedback_b": neutralise(second, MARKERS),
        "ties": options.ties,
    }
    return render_prompt(PROMPT, options.templates, fields, case.images)


PROTOCOL = Protocol(
    "feedback_preference",
    FeedbackPreferenceOptions,
    list_wants,
    call_signature,
    reading_signature,
    judge,
)
