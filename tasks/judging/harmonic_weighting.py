"""HarmonicEval's arithmetic (Ohi et al. 2024, section 2): eqs. 1 to 4, of distributions over the ratings 1, 2, ... to an overall score.

Numbers only; where the probabilities come from is `tasks.judging.harmonic_reading`'s matter.
"""

import math
from collections.abc import Sequence


def expect_score(probabilities: Sequence[float]) -> float:
    """Eq. 1: the sum of r x p(r), r from 1; `probabilities` sum to 1."""
    mean = math.fsum(rating * share for rating, share in enumerate(probabilities, start=1))
    return min(float(len(probabilities)), max(1.0, mean))  # rounding may step over an end


def measure_spread(probabilities: Sequence[float]) -> float:
    """Eq. 4: the standard deviation of the rating, sqrt(sum of (r - expected score)^2 x p(r))."""
    mean = expect_score(probabilities)
    return math.sqrt(math.fsum((rating - mean) ** 2 * share for rating, share in enumerate(probabilities, start=1)))


def weigh_criteria(spreads: Sequence[float], gamma: float) -> list[float]:
    """Eq. 3: weights proportional to spread^(-2 (1 - gamma) / gamma), computed in log space; they sum to 1.

    gamma 1 is uniform weighting (whatever the spreads), 0.5 inverse variance; 0 stands for the limit: the criteria of the smallest spread
    share the weight equally. A spread of 0 has no power: with gamma below 1 the criteria without spread share the whole weight equally, the
    limit as their spreads shrink together.

    Eq. 3 governs. The appendix states the same ends (propositions 3 and 4), but its eq. 13 put into eq. 8 gives
    spread^(2 (1 - 2 gamma) / gamma), which is uniform at 0.5 and inverse variance at 1.
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
    """(spread / smallest)^(-2 (1 - gamma) / gamma), which neither overflows nor divides by what is nearly 0."""
    if gamma == 1 or spread == smallest:
        return 1.0
    return math.exp(-2 * (1 - gamma) * ((math.log(spread) - math.log(smallest)) / gamma))


def combine_scores(scores: Sequence[float], weights: Sequence[float]) -> float:
    """Eq. 2: the weighted sum of the criteria's scores; `weights` sum to 1."""
    combined = math.fsum(weight * score for weight, score in zip(weights, scores, strict=True))
    return min(max(scores), max(min(scores), combined))  # rounding may step over an end
