"""FLEUR and RefFLEUR (Lee et al. 2024): a VLM scores a text from 0.0 to 1.0; the score is smoothed
by the probabilities of its digits.

Task, grading criteria, references (RefFLEUR's alone), caption and the question for the score stand
in the order of the released code, the wording is our own. FLEUR is made for captions; HarmonicEval
(table 2) uses it on other tasks too.

With p1 and p2 the probabilities of the digits where the first and the second decimal stand, a score
below 1 becomes sum of d x p1(d) / 10 + sum of d x p2(d) / 100 (the second term where the reply has
a second decimal), and a score of 1, with p0 the probabilities where its unit stands, 0.9 x p0(0) +
p0(1). Further decimals are left out. Beyond the released code: the digits' probabilities are
renormalised, since an endpoint lists only the likeliest; a second decimal that is a 0 is smoothed
as well; and tokens of several digits are read as the fractions they are (`85` as 0.85), each with
its probability.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from judgelake.tasks.judging.opening import OpeningScore, read_opening_score
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply, forgive_cut
from judgelake.tasks.judging.task_wording import (
    MARKERS,
    TASKS,
    ask_reasons,
    digest_wording,
    find_missing_box,
    list_fields,
    pick_images,
)
from judgelake.tasks.judging.templates import neutralise, render_prompt
from judgelake.tasks.judging.token_reading import find_likeliest, find_position, read_token_shares
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
    TokenLogprobs,
    Verdict,
    Wants,
)

# a token may hold several digits, such as `85`
_DIGITS = re.compile(r"[0-9]{1,9}")
_UNIT: Mapping[str, float] = {"0": 0.9, "1": 1.0}
"""What a score is worth whose unit is 0 or 1, where the reply says 1."""
# the released code smooths two decimals
_MOST_DECIMALS = 2
_NO_DIGIT = "no digit is among the alternatives at a decimal"


class Smoothed(NamedTuple):
    """A smoothed score, and the least mass that digits held of any position it rests on."""

    score: float
    captured_mass: float


def read_score(
    reply: Reply | Failure, smoothing: Literal["smoothed", "raw"], min_mass: float
) -> Verdict:
    """A verdict from one reply, whose score is the rating as well."""
    forgiven, cut_off = forgive_cut(reply)
    replied = check_reply(forgiven)
    if isinstance(replied, Verdict):
        return replied
    text, opening = replied.text, read_opening_score(replied.text)
    if opening is None or (
        cut_off and opening.end == len(text)
    ):  # a digit may be lost with the end
        status: Literal["truncated", "unparsed"] = "truncated" if cut_off else "unparsed"
        return Verdict(
            status, rationale=text, reason="the reply does not begin with a score from 0.0 to 1.0"
        )
    if smoothing == "raw":
        return Verdict("ok", rating=opening.score, score_0_1=opening.score, rationale=text)
    smoothed = smooth_score(replied, opening)
    if isinstance(smoothed, str):
        return Verdict("unparsed", rationale=text, reason=smoothed)
    verdict = Verdict("ok", rationale=text, captured_mass=smoothed.captured_mass)
    if smoothed.captured_mass < min_mass:
        reason = (
            f"digits hold {smoothed.captured_mass:.3g} of the probability where the score "
            f"stands, less than {min_mass:g}"
        )
        return replace(verdict, status="unparsed", reason=reason)
    return replace(verdict, rating=smoothed.score, score_0_1=smoothed.score)


def smooth_score(reply: Reply, opening: OpeningScore) -> Smoothed | str:
    """The smoothed score, or why there is none."""
    if not reply.top_logprobs:
        return "the reply has no log-probabilities, which smoothing needs; use `smoothing: raw`"
    if len(reply.top_logprobs[0]) > 1 and {*dict(reply.top_logprobs[0])} <= {*_SCORE.labels}:
        shares = read_token_shares(reply.top_logprobs[0], _SCORE.labels)
        return Smoothed(shares.mean, shares.captured_mass) if shares else _NO_DIGIT
    if opening.score == 1:
        return _smooth_unit(reply, opening.unit)
    offsets = opening.decimals[:_MOST_DECIMALS]
    if not offsets:
        return "the reply gives no decimal whose digits could be weighed"
    places = [find_position(reply.text, reply.top_logprobs, offset) for offset in offsets]
    positions = [reply.top_logprobs[place] for place in dict.fromkeys(places) if place is not None]
    if None in places or not all(
        _DIGITS.fullmatch(find_likeliest(position)) for position in positions
    ):
        return "the tokens of the reply's score do not part into its digits"
    together = len(positions) == 1
    parts = [_expect_fraction(position, None if together else 1) for position in positions]
    weighed = [part for part in parts if part is not None]
    if len(weighed) < len(parts):
        return _NO_DIGIT
    score = math.fsum(part.score / 10**place for place, part in enumerate(weighed))
    return Smoothed(score, min(part.captured_mass for part in weighed))


def _smooth_unit(reply: Reply, offset: int | None) -> Smoothed | str:
    place = None if offset is None else find_position(reply.text, reply.top_logprobs, offset)
    if place is None or find_likeliest(reply.top_logprobs[place]).strip() != "1":
        return "the tokens of the reply's score do not part into its digits"
    shares = read_token_shares(reply.top_logprobs[place], _UNIT)
    if shares is None:
        return "no digit is among the alternatives at the unit"
    return Smoothed(
        math.fsum(_UNIT[unit] * share for unit, share in shares.probabilities.items()),
        shares.captured_mass,
    )


def _expect_fraction(position: TokenLogprobs, n_digits: int | None) -> Smoothed | None:
    """The expected value of the digits after the point at one position, of tokens of `n_digits`
    digits (None: of any number).
    """
    tokens = {token.strip() for token, _ in position}
    labels = [
        token for token in tokens if _DIGITS.fullmatch(token) and n_digits in (None, len(token))
    ]
    shares = read_token_shares(position, sorted(labels))
    if shares is None:
        return None
    expected = math.fsum(
        int(label) / 10 ** len(label) * share for label, share in shares.probabilities.items()
    )
    return Smoothed(expected, shares.captured_mass)


VERSION = 1
CRITERION = "overall"
PROMPT, REASON = "fleur", "fleur_reason"
_SCORE = Answer(
    "Score: ", tuple(f"{tenths / 10:.1f}" for tenths in range(11)), "score", marked=False
)
"""Held to an answer, a model gives one decimal; digits after it add nothing to its share."""


@frozen_settings
class FleurOptions:
    """`references` makes it RefFLEUR; `smoothing: raw` takes the score that the reply says.
    Decoding is greedy, as in the released code.

    `min_mass` is what digits must hold of the probability at each decimal. `reason` asks why, in a
    second turn. `seed` is sent to the endpoint and draws the images of `swapped`.
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
    templates: SuitePath | None = None
    smoothing: Literal["smoothed", "raw"] = "smoothed"
    min_mass: float = 0.5
    answer_form: AnswerForm = "free"

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ValueError(f"samples: {self.samples}; expected a whole number from 1")
        if not 0 <= self.min_mass <= 1:
            raise ValueError(f"min_mass: {self.min_mass}; expected a probability from 0 to 1")
        if self.smoothing == "smoothed" and self.top_logprobs < 1:
            raise ValueError(
                f"top_logprobs: {self.top_logprobs}; expected at least 5, better 10 and more, "
                f"for smoothing needs the probabilities of "
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
    """Everything that changes what is asked; how the image is shown is added by
    `tasks.judging.protocols`.
    """
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
    start: dict[str, object] = {
        "reader": "opening-score",
        "version": 4,
        "scale": "0-1",
        "smoothing": options.smoothing,
    }
    return start | ({"min_mass": options.min_mass} if options.smoothing == "smoothed" else {})


def judge(case: Case, options: FleurOptions, models: Models) -> Judge:
    """Ask once, read once; with `reason`, ask again."""
    lacking = _find_lacking(case, options)
    if lacking is not None:
        return [Verdict("failed", reason=lacking)]
    decoding = Decoding(
        options.temperature, options.top_p, options.max_tokens, options.top_logprobs, options.seed
    )
    messages = build_messages(case, options)
    requests = [Request(models[JUDGE], messages, decoding, draw=case.sample, answer=_SCORE)]
    replies = yield requests
    verdicts = [read_score(replies[0], options.smoothing, options.min_mass)]
    if options.reason:
        why = render_prompt(REASON, options.templates, {})
        verdicts = yield from ask_reasons(
            requests, replies, verdicts, [why], options.reason_max_tokens
        )
    return [replace(verdict, criterion=CRITERION) for verdict in verdicts]


def build_messages(case: Case, options: FleurOptions) -> tuple[Message, ...]:
    """The prompt, references one a line and in an order of their own: they are a multiset."""
    references = (
        [neutralise(" ".join(text.split()), MARKERS) for text in sorted(case.references)]
        if options.references
        else []
    )
    return render_prompt(
        PROMPT, options.templates, list_fields(case) | {"references": references}, pick_images(case)
    )


def _find_lacking(case: Case, options: FleurOptions) -> str | None:
    if options.references and not case.references:
        return (
            "the item has no references, which RefFLEUR shows; add references or leave out "
            "`references: true`"
        )
    return find_missing_box(case)


PROTOCOL = Protocol("fleur", FleurOptions, list_wants, call_signature, reading_signature, judge)
