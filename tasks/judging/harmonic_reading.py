"""How HarmonicEval's replies are read: the expected rating of each criterion, and the overall score
of all (Ohi et al. 2024, section 2).

The probabilities that a reply brings are taken as the model's own, before temperature and top-p, as
OpenAI and vLLM (its default) give them. A rating that is not among the listed alternatives counts
as probability 0. The formulas are `tasks.judging.harmonic`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from judgelake.tasks.judging.claims import give_reason
from judgelake.tasks.judging.opening import (
    opens_with_number,
    read_opening_rating,
    settle_opening_rating,
)
from judgelake.tasks.judging.reading import check_reply, forgive_cut
from judgelake.tasks.judging.token_reading import find_opening, read_token_shares, round_single
from judgelake.tasks.types import (
    Failure,
    Reply,
    Verdict,
)


def expect_score(probabilities: Sequence[float]) -> float:
    """Eq. 1: the sum of r x p(r), r from 1; `probabilities` sum to 1."""
    mean = math.fsum(rating * share for rating, share in enumerate(probabilities, start=1))
    return min(float(len(probabilities)), max(1.0, mean))  # rounding may step over an end


def measure_spread(probabilities: Sequence[float]) -> float:
    """Eq. 4: the standard deviation of the rating, sqrt(sum of (r - expected score)^2 x p(r))."""
    mean = expect_score(probabilities)
    return math.sqrt(
        math.fsum(
            (rating - mean) ** 2 * share for rating, share in enumerate(probabilities, start=1)
        )
    )


def weigh_criteria(spreads: Sequence[float], gamma: float) -> list[float]:
    """Eq. 3: weights proportional to spread^(-2 (1 - gamma) / gamma), computed in log space; they
    sum to 1.

    gamma 1 is uniform weighting (whatever the spreads), 0.5 inverse variance; 0 stands for the
    limit: the criteria of the smallest spread share the weight equally. A spread of 0 has no power:
    with gamma below 1 the criteria without spread share the whole weight equally, the limit as
    their spreads shrink together.

    Eq. 3 governs. The appendix states the same ends (propositions 3 and 4), but its eq. 13 put into
    eq. 8 gives spread^(2 (1 - 2 gamma) / gamma), which is uniform at 0.5 and inverse variance at 1.
    """
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma: {gamma}; expected a number from 0 to 1")
    if not spreads or not all(spread >= 0 for spread in spreads):
        raise ValueError(f"spreads: {list(spreads)}; expected at least one, and none below 0")
    smallest = min(spreads)
    if gamma < 1 and (smallest == 0 or gamma == 0):
        powers = [float(spread == smallest) for spread in spreads]
    else:
        powers = [_raise_ratio(spread, smallest, gamma) for spread in spreads]
    total = math.fsum(powers)
    return [power / total for power in powers]


def _raise_ratio(spread: float, smallest: float, gamma: float) -> float:
    """(spread / smallest)^(-2 (1 - gamma) / gamma), which neither overflows nor divides by what is
    nearly 0.
    """
    if gamma == 1 or spread == smallest:
        return 1.0
    return math.exp(-2 * (1 - gamma) * ((math.log(spread) - math.log(smallest)) / gamma))


def combine_scores(scores: Sequence[float], weights: Sequence[float]) -> float:
    """Eq. 2: the weighted sum of the criteria's scores; `weights` sum to 1."""
    combined = math.fsum(weight * score for weight, score in zip(weights, scores, strict=True))
    return min(max(scores), max(min(scores), combined))  # rounding may step over an end


LEVELS = (1, 2, 3, 4, 5)
NO_LOGPROBS = (
    "the reply has no log-probabilities; without them draw ratings (`sampling: 20` with "
    "`temperature: 1.0`), "
    "or read what the reply says (`smoothing: none` with `weighting: uniform`)"
)


@dataclass(frozen=True)
class HarmonicReading:
    """Which rating of a criterion counts and how criteria are weighed. `gamma` is that of eq. 3.

    `min_mass` is what the five ratings must hold of the first token's probability or, of `drawn`
    ratings, the share of draws that must have one. `pseudo_count` is added to the number of draws
    of each rating: their prior is Dirichlet(pseudo_count, ...), five times.
    """

    smoothing: Literal["expected", "none"]
    gamma: float
    min_mass: float
    pseudo_count: float
    drawn: bool

    @property
    def needs_probabilities(self) -> bool:
        """Whether anything but the rating that a reply says counts."""
        return self.smoothing == "expected" or self.gamma < 1


def read_criterion(
    criterion: str, replies: Sequence[Reply | Failure], reading: HarmonicReading
) -> Verdict:
    """The verdict about one criterion: of its one reply, or of all that were drawn."""
    verdict = read_draws(replies, reading) if reading.drawn else read_reply(replies[0], reading)
    return replace(verdict, criterion=criterion)


def read_reply(reply: Reply | Failure, reading: HarmonicReading) -> Verdict:
    """A verdict from one reply, by the first token that is more than blanks and emphasis.

    A reply that opens with another number (10, 4.5, `3-4`) has no rating, even if that number's
    first token is one.
    """
    forgiven, cut_off = forgive_cut(reply)
    replied = check_reply(forgiven)
    if isinstance(replied, Verdict):
        return replied
    opening = read_opening_rating(replied.text, LEVELS, cut_off=cut_off)
    if opening is None and (
        reading.smoothing == "none" or opens_with_number(replied.text) or not replied.text.strip()
    ):
        settled = settle_opening_rating(replied.text, LEVELS, cut_off=cut_off)
        reason = give_reason("the reply does not begin with a rating from 1 to 5", settled)
        return Verdict(
            "truncated" if cut_off else "unparsed", rationale=replied.text, reason=reason
        )
    verdict = (
        _weigh_ratings(replied, reading.min_mass) if reading.needs_probabilities else Verdict("ok")
    )
    if verdict.status != "ok":
        return replace(verdict, rationale=replied.text)
    explained = replace(verdict, rationale=(opening.rationale or None) if opening else replied.text)
    return _rate(
        explained,
        float(opening.rating) if opening and reading.smoothing == "none" else verdict.rating,
    )


def _weigh_ratings(reply: Reply, min_mass: float) -> Verdict:
    """The expected rating over the tokens 1 to 5 where the reply's text begins, renormalised."""
    if not reply.top_logprobs:
        return Verdict("unparsed", reason=NO_LOGPROBS)
    place = find_opening(reply.text, reply.top_logprobs)
    if place is None:
        return Verdict("unparsed", reason="the reply's text does not begin with its tokens")
    shares = read_token_shares(reply.top_logprobs[place], map(str, LEVELS))
    mass = 0.0 if shares is None else shares.captured_mass
    if shares is None or mass < min_mass:
        reason = (
            f"the ratings 1 to 5 hold {mass:.3g} of the first token's probability, less "
            f"than {min_mass:g}"
        )
        if shares is None:
            reason = "none of the ratings 1 to 5 is among the first token's alternatives"
        return Verdict(
            "unparsed",
            reason=reason,
            captured_mass=mass,
            probabilities=shares.probabilities if shares else None,
        )
    expected = expect_score(list(shares.probabilities.values()))
    return Verdict("ok", rating=expected, probabilities=shares.probabilities, captured_mass=mass)


def read_draws(replies: Sequence[Reply | Failure], reading: HarmonicReading) -> Verdict:
    """A verdict from drawn ratings: p(r) = (n_r + pseudo_count) / (n + 5 pseudo_count) over the n
    draws that have a rating.

    It has no captured mass, and its `reason` says that it was estimated. One request that failed
    fails the verdict: it is tried again.
    """
    drawn = [
        read_reply(reply, replace(reading, smoothing="none", gamma=1.0, drawn=False))
        for reply in replies
    ]
    failed = next((verdict for verdict in drawn if verdict.status == "failed"), None)
    if failed is not None:
        return failed
    ratings = [int(verdict.rating) for verdict in drawn if verdict.rating is not None]
    if len(ratings) < max(1.0, reading.min_mass * len(drawn)):
        first = next(verdict for verdict in drawn if verdict.status != "ok")
        reason = (
            f"{len(ratings)} of {len(drawn)} draws have a rating from 1 to 5, less than a "
            f"share of {reading.min_mass:g}"
        )
        return replace(first, reason=reason)
    total = len(ratings) + len(LEVELS) * reading.pseudo_count
    probabilities = {
        str(level): (ratings.count(level) + reading.pseudo_count) / total for level in LEVELS
    }
    reason = (
        f"estimated from {len(ratings)} drawn ratings with pseudo-counts of "
        f"{reading.pseudo_count:g}, not from log-probabilities"
    )
    verdict = Verdict(
        "ok",
        rationale=f"drawn: {' '.join(map(str, ratings))}",
        reason=reason,
        probabilities=probabilities,
    )
    return _rate(verdict, expect_score(list(probabilities.values())))


def read_overall(verdicts: Mapping[str, Verdict], reading: HarmonicReading) -> Verdict:
    """The overall score of all criteria (eqs. 2 to 4). Where a criterion has no score, there is
    none, and the criterion's reason is given.
    """
    for criterion, verdict in verdicts.items():
        if verdict.status != "ok" or verdict.rating is None:
            return Verdict(
                verdict.status,
                reason=f"no score of {criterion}: {verdict.reason or verdict.status}",
            )
    ratings = [verdict.rating or 0.0 for verdict in verdicts.values()]
    spreads = [
        measure_spread(list((verdict.probabilities or {}).values()))
        for verdict in verdicts.values()
    ]
    weights = weigh_criteria(
        spreads, reading.gamma
    )  # without probabilities gamma is 1, which asks no spread
    parts = zip(verdicts, ratings, weights, strict=True)
    rationale = "; ".join(
        f"{criterion} {rating:.3f} (weight {weight:.3f})" for criterion, rating, weight in parts
    )
    return _rate(Verdict("ok", rationale=rationale), combine_scores(ratings, weights))


def _rate(verdict: Verdict, rating: float | None) -> Verdict:
    """The verdict with its rating, in single precision as the probabilities behind it are kept, and
    (rating - 1) / 4 as the score.
    """
    if rating is None:
        return verdict
    single = round_single(rating)
    return replace(verdict, rating=single, score_0_1=(single - 1) / (len(LEVELS) - 1))
