"""One preference from two orders of the same pair, and what it counts as in ratings, contradictions and kappa.

A preference is a number as in the lake's `preference_b`: 0 for answer a, 1 for answer b, 0.5 for a tie, NaN where there is
none; anything between says how sure the rater was. It names the answer, not the place where it was shown.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.stats.cluster_sums import AnyWeights, Floats, Indices
from tasks.stats.estimates import Estimate, estimate_mean

Codes = NDArray[np.int8]


class Preference(IntEnum):
    """What both orders of a pair say together."""

    MISSING = -1
    A = 0
    B = 1
    TIE = 2
    INCONSISTENT = 3


def join_orders(first: Floats, second: Floats) -> Codes:
    """`Preference` codes of pairs shown in both orders: orders that agree are one preference, others are inconsistent.

    A tie in one order and a winner in the other do not agree. Where either order is missing, the preference is.
    """
    if first.shape != second.shape:
        raise ValueError(f"join_orders: {first.size} and {second.size} preferences; expected one of each order a pair; pair them")
    sides = [_side(order) for order in (first, second)]
    joined = np.where(sides[0] == sides[1], sides[0], np.int8(Preference.INCONSISTENT))
    joined[(sides[0] == Preference.MISSING) | (sides[1] == Preference.MISSING)] = Preference.MISSING
    return joined


def rate_preferences(codes: Codes) -> Floats:
    """The share of a win that goes to b in ratings: inconsistent is half a win like a tie. 0.5 is no edge in contradictions."""
    return np.array([0.0, 1.0, 0.5, 0.5, np.nan])[codes]


def label_preferences(codes: Codes) -> Floats:
    """Labels for kappa: a, b, tie and inconsistent are four classes; missing is NaN, never a class."""
    return np.where(codes == Preference.MISSING, np.nan, codes)


def share_inconsistent(codes: Codes, clusters: Indices, weights: AnyWeights) -> Estimate:
    """Share of inconsistent pairs among those with both orders."""
    shares = np.where(codes == Preference.MISSING, np.nan, codes == Preference.INCONSISTENT)
    return estimate_mean(shares, clusters, weights)


class Matchups(NamedTuple):
    """The matchup of each row, one code for both orders of two models, and its preferences turned to the lower model code."""

    matchup: Indices
    preference: Floats


def orient_matchups(model_a: Indices, model_b: Indices, labels: Floats) -> Matchups:
    """Turn rows so that a is the model with the lower code: a label from 0 to 1 becomes 1 - label, others (2, 3, NaN) stay.

    For kappa by matchup (CHIRP, appendix C.2.5); the matchup is lower code x number of codes + higher code.
    """
    if not model_a.shape == model_b.shape == labels.shape or (model_a == model_b).any():
        raise ValueError(
            f"orient_matchups: {model_a.size}, {model_b.size} models and {labels.size} labels, {(model_a == model_b).sum()} pairs of "
            "one model with itself; expected two different models a row; leave out pairs within a model"
        )
    is_turned = (model_a > model_b) & (labels <= Preference.B)
    n_codes = 1 + max(int(model_a.max(initial=0)), int(model_b.max(initial=0)))
    matchup = np.minimum(model_a, model_b) * n_codes + np.maximum(model_a, model_b)
    return Matchups(matchup, np.where(is_turned, 1 - labels, labels))


def _side(preference: Floats) -> Codes:
    side = np.full(preference.shape, Preference.MISSING, dtype=np.int8)
    side[preference < 0.5] = Preference.A
    side[preference > 0.5] = Preference.B
    side[preference == 0.5] = Preference.TIE
    return side
