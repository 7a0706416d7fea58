"""What CHIRP reads from a suite of models: agreement with size and training loss, the superscore. Scaled averages are SQL."""

from typing import NamedTuple

import numpy as np

from tasks.stats.cluster_sums import AnyWeights, Floats, Indices
from tasks.stats.comparisons import Comparisons
from tasks.stats.estimates import Estimate, estimate_mean


class AttributeAgreement(NamedTuple):
    """How often the model with more (or less) of something is preferred; the rows left out: equal or unknown in it; the ties."""

    agreement: Estimate
    n_left_out: int
    n_ties: int


class Superscore(NamedTuple):
    """Share of answers that are right in the long form, the short form, and either; on those that have both forms."""

    long: Estimate
    short: Estimate
    either: Estimate


def agree_with_attribute(
    comparisons: Comparisons, attribute: Floats, prefers_more: bool, weights: AnyWeights
) -> AttributeAgreement:
    """Share of the wins that go to the model with more of `attribute`, (models,), or with less of it; a tie is half.

    More parameters in CHIRP's Table 2, a lower training loss in Table 16. NaN is an unknown attribute.
    """
    gap = attribute[comparisons.model_b] - attribute[comparisons.model_a]
    is_b = gap > 0 if prefers_more else gap < 0
    is_known = ~np.isnan(gap) & (gap != 0)
    share = np.where(is_b, comparisons.preference_b, 1 - comparisons.preference_b)
    agreement = estimate_mean(np.where(is_known, share, np.nan), comparisons.clusters, weights)
    n_ties = int(np.count_nonzero(comparisons.preference_b[is_known] == 0.5))
    return AttributeAgreement(agreement, int(np.count_nonzero(~is_known)), n_ties)


def superscore(long: Floats, short: Floats, clusters: Indices, weights: AnyWeights) -> Superscore:
    """Right if the long or the short answer is (CHIRP, section 5.2.1); 1 right, 0 wrong, NaN missing.

    Answers that lack either form are left out: a right one beside a missing one would count, a wrong one could not.
    """
    has_both = ~np.isnan(long) & ~np.isnan(short)
    forms = (np.where(has_both, form, np.nan) for form in (long, short, np.maximum(long, short)))
    return Superscore(*(estimate_mean(form, clusters, weights) for form in forms))
