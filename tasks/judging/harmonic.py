"""HarmonicEval (Ohi et al. 2024): a VLM rates a text by each of five criteria from 1 to 5; the
overall score weighs them by certainty.

One request a criterion, all at once. Criteria, levels and tasks are those of the paper's section
2.1 and appendix C.1, the wording our own; the material stands before the criterion, so that all
requests about a text begin alike. How replies are read is in
`tasks.judging.harmonic_reading`.

The probabilities that a reply brings are taken as the model's own, before temperature and top-p, as
OpenAI and vLLM (its default) give them. A rating that is not among the listed alternatives counts
as probability 0.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from judgelake.tasks.judging.cases import find_missing_image
from judgelake.tasks.judging.harmonic_reading import (
    LEVELS,
    HarmonicReading,
    read_criterion,
    read_overall,
)
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.task_wording import (
    TASKS,
    ask_reasons,
    digest_wording,
    find_missing_box,
    list_fields,
    pick_images,
)
from judgelake.tasks.judging.templates import render_prompt
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
    Request,
    Verdict,
    Wants,
)

VERSION = 1
LOOKING, TEXT_ALONE = ("correctness", "completeness"), ("clarity", "fluency", "conciseness")
CRITERIA = (*LOOKING, *TEXT_ALONE)
OVERALL = "overall"
Weighting = Literal["harmonic", "uniform", "inverse_variance", "selective"]
GAMMAS: Mapping[Weighting, float] = {"uniform": 1.0, "inverse_variance": 0.5, "selective": 0.0}
"""The weightings that are eq. 3 with a gamma of their own; selective is its limit."""
# gamma of eq. 3 where a suite gives none
DEFAULT_GAMMA = 0.75
_RATING = Answer("Rating: ", tuple(map(str, LEVELS)), "rating", marked=False)


@frozen_settings
class HarmonicOptions:
    """Table 4's ablations and Table 5's gamma are readings: `smoothing: none` takes the rating that
    the reply says (the weights stay), `weighting: uniform` weighs nothing. `overall_directly` asks
    for the overall score alone, `reason` why, in a second turn.

    `sampling` is for endpoints without log-probabilities: that many ratings are drawn at
    `temperature`, counted with `pseudo_count` for each rating (0.2: a prior of one draw's weight in
    all). `min_mass` is the least that the five ratings must hold of the first token, or the least
    share of draws that must have one. `seed` is sent to the endpoint and draws the images of
    `swapped`.
    """

    criteria: tuple[str, ...] = CRITERIA
    overall_directly: bool = False
    image: ImageMode = True
    reason: bool = False
    samples: int = 1
    sampling: int = 0
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 16
    reason_max_tokens: int = 512
    top_logprobs: int = 20
    seed: int | None = None
    templates: SuitePath | None = None
    smoothing: Literal["expected", "none"] = "expected"
    weighting: Weighting = "harmonic"
    gamma: float = DEFAULT_GAMMA
    min_mass: float = 0.5
    pseudo_count: float = 0.2
    answer_form: AnswerForm = "free"

    def __post_init__(self) -> None:
        for wrong in (
            self._find_wrong_question(),
            self._find_wrong_sampling(),
            self._find_wrong_reading(),
        ):
            if wrong is not None:
                raise ValueError(wrong)
        looks = self.overall_directly or not set(LOOKING).isdisjoint(self.criteria)
        if not looks and self.image == "swapped":
            raise ValueError(
                f"image: swapped; expected with {' or '.join(LOOKING)}, the criteria that look "
                f"at it; add one"
            )
        if not looks:
            object.__setattr__(self, "image", "absent")

    def _find_wrong_question(self) -> str | None:
        if (
            not self.criteria
            or not set(self.criteria) <= set(CRITERIA)
            or len(set(self.criteria)) < len(self.criteria)
        ):
            return (
                f"criteria: {', '.join(self.criteria) or 'none'}; expected different ones "
                f"of {', '.join(CRITERIA)}"
            )
        if self.overall_directly and self.criteria != CRITERIA:
            return (
                "overall_directly: true; expected without `criteria`, none of which it asks "
                "about; remove one of the two"
            )
        if self.samples < 1:
            return f"samples: {self.samples}; expected a whole number from 1"
        return None

    def _find_wrong_sampling(self) -> str | None:
        if self.sampling < 0 or self.sampling == 1:
            return f"sampling: {self.sampling}; expected 0, or a number of draws from 2"
        if self.sampling and not self.temperature > 0:
            return (
                f"temperature: {self.temperature}; expected above 0 with `sampling`, whose "
                f"draws would all be one; add `temperature: 1.0`"
            )
        if self.sampling and (self.reason or self.smoothing == "none"):
            key, value = ("reason", "true") if self.reason else ("smoothing", "none")
            return (
                f"{key}: {value}; expected without `sampling`, whose draws have a rating "
                f"each; remove one of the two"
            )
        if not self.pseudo_count >= 0:
            return f"pseudo_count: {self.pseudo_count}; expected a number from 0"
        return None

    def _find_wrong_reading(self) -> str | None:
        if not 0 <= self.gamma <= 1:
            return f"gamma: {self.gamma}; expected a number from 0 to 1"
        if self.weighting != "harmonic" and self.gamma != DEFAULT_GAMMA:
            return (
                f"gamma: {self.gamma}; expected with `weighting: harmonic`, for "
                f"{self.weighting} has its own; remove one of the two"
            )
        if not 0 <= self.min_mass <= 1:
            return f"min_mass: {self.min_mass}; expected a probability from 0 to 1"
        if self.reading.needs_probabilities and not self.sampling and self.top_logprobs < 1:
            return (
                f"top_logprobs: {self.top_logprobs}; expected 5 or more, for the reading "
                f"needs the ratings' probabilities; or use `sampling`"
            )
        return None

    @property
    def asked(self) -> tuple[str, ...]:
        """The criteria that are asked about, in the paper's order."""
        return (
            (OVERALL,)
            if self.overall_directly
            else tuple(criterion for criterion in CRITERIA if criterion in self.criteria)
        )

    @property
    def prompts(self) -> tuple[str, ...]:
        """The names of the prompts that are used."""
        return (
            *(f"harmonic_{criterion}" for criterion in self.asked),
            *(("harmonic_reason",) if self.reason else ()),
        )

    @property
    def decoding(self) -> Decoding:
        """How ratings are drawn."""
        return Decoding(
            self.temperature,
            self.top_p,
            self.max_tokens,
            0 if self.sampling else self.top_logprobs,
            self.seed,
        )

    @property
    def reading(self) -> HarmonicReading:
        """How replies are read; of one rating alone nothing is weighed."""
        gamma = 1.0 if self.overall_directly else GAMMAS.get(self.weighting, self.gamma)
        return HarmonicReading(
            self.smoothing, gamma, self.min_mass, self.pseudo_count, self.sampling > 0
        )


def list_wants(options: HarmonicOptions) -> Wants:
    """One case an answer and sample, about all criteria and the overall score together."""
    return Wants(
        TASKS,
        criteria=((OVERALL,) if options.overall_directly else (*options.asked, OVERALL),),
        samples=options.samples,
        image=options.image,
        regions=options.image != "absent",
        seed=options.seed or 0,
    )


def call_signature(options: HarmonicOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked; how the image is shown is added by
    `tasks.judging.protocols`.
    """
    decoding = options.decoding
    return {
        "protocol": "harmonic",
        "version": VERSION,
        "model": models[JUDGE],
        "prompt": digest_wording(options.prompts, options.templates),
        "criteria": "+".join(options.asked),
        "sampling": options.sampling,
        "temperature": decoding.temperature,
        "top_p": "none" if decoding.top_p is None else decoding.top_p,
        "max_tokens": decoding.max_tokens,
        "top_logprobs": decoding.top_logprobs,
        "reason": options.reason_max_tokens if options.reason else "none",
        "seed": "none" if decoding.seed is None else decoding.seed,
    }


def reading_signature(options: HarmonicOptions) -> dict[str, object]:
    """How replies are read; drawn ratings have another reader than probabilities."""
    reading = options.reading
    start: dict[str, object] = {
        "reader": "drawn-ratings" if reading.drawn else "first-token-rating",
        "version": 4,
        "scale": "1-5",
    }
    how = (
        {"pseudo_count": reading.pseudo_count}
        if reading.drawn
        else {"smoothing": reading.smoothing}
    )
    gamma = {} if options.overall_directly else {"gamma": reading.gamma}
    return start | how | gamma | {"min_mass": reading.min_mass}


def judge(case: Case, options: HarmonicOptions, models: Models) -> Judge:
    """Ask about all criteria at once; with `reason`, ask again for the reasons. Where a criterion
    has no score, neither has `overall`; the other criteria keep theirs.
    """
    lacking = _find_lacking(case, options)
    asked = [criterion for criterion in options.asked if lacking is None or criterion in TEXT_ALONE]
    n_draws, fields = options.sampling or 1, list_fields(case)
    requests = [
        Request(
            models[JUDGE],
            messages,
            options.decoding,
            case.sample * n_draws + number,
            answer=_RATING,
        )
        for messages in [build_messages(case, fields, criterion, options) for criterion in asked]
        for number in range(n_draws)
    ]
    replies = (yield requests) if requests else []
    verdicts = [
        read_criterion(criterion, replies[n_draws * place : n_draws * (place + 1)], options.reading)
        for place, criterion in enumerate(asked)
    ]
    if options.reason:
        questions = [_ask_why(criterion, options) for criterion in asked]
        verdicts = yield from ask_reasons(
            requests, replies, verdicts, questions, options.reason_max_tokens
        )
    by_criterion = dict(zip(asked, verdicts, strict=True))
    all_verdicts = {
        criterion: by_criterion.get(criterion)
        or replace(lacking or Verdict("failed"), criterion=criterion)
        for criterion in options.asked
    }
    overall = (
        []
        if options.overall_directly
        else [replace(read_overall(all_verdicts, options.reading), criterion=OVERALL)]
    )
    return [*all_verdicts.values(), *overall]


def _find_lacking(case: Case, options: HarmonicOptions) -> Verdict | None:
    """What criteria that look at the image have for a verdict where it, or its box, is not
    there.
    """
    missing = find_missing_image(case, options.image != "absent")
    if missing is not None:
        return Verdict("missing_image", reason=missing)
    box = find_missing_box(case)
    return None if box is None else Verdict("failed", reason=box)


def build_messages(
    case: Case, fields: dict[str, object], criterion: str, options: HarmonicOptions
) -> tuple[Message, ...]:
    """The prompt of one criterion from the case's `fields`; clarity, fluency and conciseness see
    the text alone (appendix C.4).
    """
    images = () if criterion in TEXT_ALONE else pick_images(case)
    return render_prompt(f"harmonic_{criterion}", options.templates, fields, images)


def _ask_why(criterion: str, options: HarmonicOptions) -> tuple[Message, ...]:
    return render_prompt("harmonic_reason", options.templates, {"criterion": criterion})


PROTOCOL = Protocol(
    "harmonic",
    HarmonicOptions,
    list_wants,
    call_signature,
    reading_signature,
    judge,
    handles_missing_images=True,
)
