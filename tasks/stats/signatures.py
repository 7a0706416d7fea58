"""Which statistics there are: their columns, options and results, without what computes them
(`tasks.stats.statistics`), so that naming them imports nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["number", "label", "name"]
"""What a column holds: numbers, missing where null or not finite; labels, which are numbers where
all of them can be read as such, else text; names, of which only equality matters.
"""


@dataclass(frozen=True)
class Signature:
    """A statistic's name, what it says, its columns with their kinds, and its options with their
    defaults.
    """

    name: str
    says: str
    columns: Mapping[str, Kind]
    options: Mapping[str, Any] = field(default_factory=dict)
    rates_models: bool = False
    """Whether it gives each model a rating, not one number."""


_PAIR: Mapping[str, Kind] = {"x": "number", "y": "number"}
_LABELS: Mapping[str, Kind] = {"a": "label", "b": "label"}
_UNITS: Mapping[str, Kind] = {"unit": "name", "label": "label"}
_ITEMS: Mapping[str, Kind] = {**_PAIR, "item": "name"}
_DUELS: Mapping[str, Kind] = {"model_a": "name", "model_b": "name", "preference_b": "number"}
_COEFFICIENTS = {
    "pearson": "product-moment correlation",
    "spearman": "correlation of ranks, ties sharing the mean of theirs",
    "kendall_tau_b": "pairs ranked alike less those ranked otherwise, corrected for ties",
    "kendall_tau_c": "the same for scales of unlike numbers of levels",
}

_ALL: Sequence[Signature] = (
    *(Signature(name, says, _PAIR) for name, says in _COEFFICIENTS.items()),
    Signature("agreement", "share of rows with the same two labels", _LABELS),
    Signature(
        "cohen_kappa",
        "agreement of two raters beyond chance",
        _LABELS,
    ),
    Signature(
        "weighted_kappa",
        "Cohen's kappa that weighs how far labels lie apart: 'linear' or 'quadratic'",
        {"a": "number", "b": "number"},
        {"weights": "quadratic"},
    ),
    Signature(
        "matchup_kappa",
        "Cohen's kappa of choices a, b, tie, its chance term by matchup of two models (CHIRP)",
        {**_LABELS, "model_a": "name", "model_b": "name"},
    ),
    Signature("fleiss_kappa", "agreement of several raters beyond chance", _UNITS),
    Signature(
        "krippendorff_alpha",
        "reliability of any number of raters: 'nominal', 'ordinal' or 'interval'",
        _UNITS,
        {"metric": "nominal"},
    ),
    Signature(
        "pair_accuracy",
        "share of pairs of answers to one item that both rank alike or both tie",
        _ITEMS,
    ),
    Signature(
        "tie_calibrated_accuracy",
        "the same where scores of x at most epsilon apart are ties, the best epsilon",
        _ITEMS,
    ),
    Signature(
        "soft_pairwise_accuracy",
        "how near the p-values of pairs of models are by x and by y",
        {**_PAIR, "model": "name", "item": "name"},
        {"permutations": 1000, "seed": 0},
    ),
    Signature("cluster_mean", "mean", {"x": "number"}),
    Signature("win_rate", "share of wins, a tie half", {"x": "number"}),
    Signature(
        "elo",
        "Elo ratings of models, the mean over random orders of the comparisons",
        _DUELS,
        {"start": 1000, "k": 4, "scale": 400, "seed": 0},
        rates_models=True,
    ),
    Signature(
        "bradley_terry",
        "Bradley-Terry ratings of models, on Elo's scale",
        _DUELS,
        {"start": 1000, "scale": 400},
        rates_models=True,
    ),
    Signature(
        "distance_correlation",
        "distance correlation, which is 0 only where nothing is shared",
        _PAIR,
    ),
)
SIGNATURES: Mapping[str, Signature] = {signature.name: signature for signature in _ALL}
"""Name -> signature."""
