"""What the choices between two answers are as labels, and pairs of models turned one way. Both orders of a pair become one choice in SQL."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tasks.stats.cluster_sums import Floats, Indices


class Preference(IntEnum):
    """What both orders of a pair say together; they differ where it is inconsistent. Missing is no label but NaN."""

    A = 0
    B = 1
    TIE = 2
    INCONSISTENT = 3


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
