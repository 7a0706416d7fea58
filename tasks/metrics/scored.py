"""What every reference metric gives for n rows: a score each, and the additive numbers that a corpus score is a function of."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
Statistics = npt.NDArray[np.float64]
"""(n, k): row i's additive numbers, whose names the metric lists."""


class Scored(NamedTuple):
    """Scores of n rows, NaN where undefined (no answer, no references), and their statistics."""

    scores: Scores
    statistics: Statistics
    """k may be 0: then the corpus score is the mean of the scores. A row without a score adds nothing, whatever stands in it."""
    reasons: Sequence[str | None] = ()
    """Why a row has no score, row by row; empty for a metric that has only one reason."""


def without_statistics(scores: Scores) -> Scored:
    """Scores of a metric whose corpus score is their mean."""
    return Scored(scores, np.empty((len(scores), 0)))
