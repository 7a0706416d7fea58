"""How FLEUR's replies are read: the score that a reply says, or the one smoothed over both decimals (Lee et al. 2024, and its code).

With p1 and p2 the probabilities of the digits where the first and the second decimal stand, a score below 1 becomes
sum of d x p1(d) / 10 + sum of d x p2(d) / 100 (the second term where the reply has a second decimal), and a score of 1, with p0 the
probabilities where its unit stands, 0.9 x p0(0) + p0(1). Further decimals are left out.

Beyond the released code: the digits' probabilities are renormalised, since an endpoint lists only the likeliest; a second decimal that is a 0
is smoothed as well; and tokens of several digits are read as the fractions they are (`85` as 0.85), each with its probability.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from tasks.judging.opening_reading import OpeningScore, forgive_cut, read_opening_score
from tasks.judging.reading import check_reply
from tasks.judging.token_reading import find_likeliest, find_position, read_token_shares
from tasks.judging.types import Failure, Reply, TokenLogprobs, Verdict

_DIGITS = re.compile(r"[0-9]{1,9}")
_UNIT: Mapping[str, float] = {"0": 0.9, "1": 1.0}
"""What a score is worth whose unit is 0 or 1, where the reply says 1."""
_MOST_DECIMALS = 2


class Smoothed(NamedTuple):
    """A smoothed score, and the least mass that digits held of any position it rests on."""

    score: float
    captured_mass: float


def read_score(reply: Reply | Failure, smoothing: Literal["smoothed", "raw"], min_mass: float) -> Verdict:
    """A verdict from one reply, whose score is the rating as well."""
    forgiven, cut_off = forgive_cut(reply)
    replied = check_reply(forgiven)
    if isinstance(replied, Verdict):
        return replied
    text, told = replied.text, read_opening_score(replied.text)
    if told is None or (cut_off and told.end == len(text)):  # a digit may be lost with the end
        status: Literal["truncated", "unparsed"] = "truncated" if cut_off else "unparsed"
        return Verdict(status, rationale=text, reason="the reply does not begin with a score from 0.0 to 1.0")
    if smoothing == "raw":
        return Verdict("ok", rating=told.score, score_0_1=told.score, rationale=text)
    smoothed = smooth_score(replied, told)
    if isinstance(smoothed, str):
        return Verdict("unparsed", rationale=text, reason=smoothed)
    verdict = Verdict("ok", rationale=text, captured_mass=smoothed.captured_mass)
    if smoothed.captured_mass < min_mass:
        reason = f"digits hold {smoothed.captured_mass:.3g} of the probability where the score stands, less than {min_mass:g}"
        return replace(verdict, status="unparsed", reason=reason)
    return replace(verdict, rating=smoothed.score, score_0_1=smoothed.score)


def smooth_score(reply: Reply, told: OpeningScore) -> Smoothed | str:
    """The smoothed score, or why there is none."""
    if not reply.top_logprobs:
        return "the reply has no log-probabilities, which smoothing needs; use `smoothing: raw`"
    if told.score == 1:
        return _smooth_unit(reply, told.unit)
    offsets = told.decimals[:_MOST_DECIMALS]
    if not offsets:
        return "the reply gives no decimal whose digits could be weighed"
    places = [find_position(reply.text, reply.top_logprobs, offset) for offset in offsets]
    positions = [reply.top_logprobs[place] for place in dict.fromkeys(places) if place is not None]
    if None in places or not all(_DIGITS.fullmatch(find_likeliest(position)) for position in positions):
        return "the tokens of the reply's score do not part into its digits"
    together = len(positions) == 1
    parts = [_expect_fraction(position, None if together else 1) for position in positions]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return "no digit is among the alternatives at a decimal"
    score = math.fsum(part.score / 10**place for place, part in enumerate(found))
    return Smoothed(score, min(part.captured_mass for part in found))


def _smooth_unit(reply: Reply, offset: int | None) -> Smoothed | str:
    place = None if offset is None else find_position(reply.text, reply.top_logprobs, offset)
    if place is None or find_likeliest(reply.top_logprobs[place]).strip() != "1":
        return "the tokens of the reply's score do not part into its digits"
    shares = read_token_shares(reply.top_logprobs[place], _UNIT)
    if shares is None:
        return "no digit is among the alternatives at the unit"
    return Smoothed(math.fsum(_UNIT[unit] * share for unit, share in shares.probabilities.items()), shares.captured_mass)


def _expect_fraction(position: TokenLogprobs, n_digits: int | None) -> Smoothed | None:
    """The expected value of the digits after the point at one position, of tokens of `n_digits` digits (None: of any number)."""
    tokens = {token.strip() for token, _ in position}
    labels = [token for token in tokens if _DIGITS.fullmatch(token) and n_digits in (None, len(token))]
    shares = read_token_shares(position, sorted(labels))
    if shares is None:
        return None
    expected = math.fsum(int(label) / 10 ** len(label) * share for label, share in shares.probabilities.items())
    return Smoothed(expected, shares.captured_mass)
