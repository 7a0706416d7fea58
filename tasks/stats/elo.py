"""Elo ratings over many orders of the same comparisons: permutations, and bootstraps of questions
each in an order of its own.

Elo depends on the order of its updates, so one pass is no estimate; the band over passes is a
spread, no confidence interval (`tasks.stats.bradley_terry` has those).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.cluster_sums import (
    AnyWeights,
    Floats,
    check_clusters,
    draw_once,
    run_in_threads,
)
from judgelake.tasks.stats.comparisons import (
    Comparisons,
    RatingBand,
    count_meetings,
    summarise_ratings,
)
from judgelake.tasks.stats.elo_passes import Matches, rate_passes
from judgelake.tasks.stats.kernel_choice import use_kernels

ORDERS = 200
"""Orders over which a rating is averaged: what is left of their spread is a fourteenth, far inside
the band.
"""
_NS_A_MATCH = 200
"""What a match of a pass takes in numpy."""


class EloScale(NamedTuple):
    """Where ratings start, how far one comparison moves them (K), and the gap that means ten to one
    odds (`scale`).
    """

    initial: float
    k: float
    scale: float


UNEVEN = 0.05
"""Shares of the way from the start to where Elo would settle that differ by more between models are
marked: who was compared more often then stands further from the start, above or below.
"""


def find_unsettled(comparisons: Comparisons, scale: EloScale) -> str | None:
    """Why the order of the ratings depends on how often a model was compared; None where it does
    not.
    """
    n = count_meetings(comparisons).sum(axis=1)
    # Between equal models a comparison takes back this share of a rating's distance from its place.
    step = scale.k * math.log(10) / (4 * scale.scale)
    least, most = (int(n.min()), int(n.max())) if n.size else (0, 0)
    if math.exp(-step * least) - math.exp(-step * most) <= UNEVEN:
        return None
    return (
        f"models were compared {least} to {most} times, too few for Elo with K = {scale.k:g} to "
        f"settle: its order depends on how often a model was compared"
    )


class EloRatings(NamedTuple):
    """Ratings of each pass, (passes, models), NaN for a model without a comparison in it; their
    band and what the band is.
    """

    ratings: Floats
    band: RatingBand
    band_name: str


def permute_elo(
    comparisons: Comparisons, scale: EloScale, permutations: int, rng: np.random.Generator
) -> EloRatings:
    """Rate the comparisons in random orders; the band shows the order's effect alone."""
    as_one = comparisons._replace(clusters=np.zeros_like(comparisons.clusters))
    ratings = _rate(as_one, scale, np.repeat(draw_once(1), permutations, axis=0), rng)
    return EloRatings(ratings, summarise_ratings(ratings), "order spread")


def bootstrap_elo(
    comparisons: Comparisons, scale: EloScale, weights: AnyWeights, rng: np.random.Generator
) -> EloRatings:
    """Rate resamples of the clusters, each in a random order of its comparisons (CHIRP, section 3.4
    and Figure 5).
    """
    ratings = _rate(comparisons, scale, weights, rng)
    return EloRatings(ratings, summarise_ratings(ratings), "order-and-resampling spread")


def _rate(
    comparisons: Comparisons, scale: EloScale, weights: AnyWeights, rng: np.random.Generator
) -> Floats:
    if not (scale.k > 0 and scale.scale > 0 and math.isfinite(scale.initial)):
        raise ValueError(
            f"elo: {scale}; expected a finite initial rating, K and scale above 0; FastChat's "
            f"are 1000, 4, 400"
        )
    scale = EloScale(*map(float, scale))
    check_clusters("elo", comparisons.clusters, comparisons.preference_b.size, weights)
    matches = _fold_matches(comparisons, weights.shape[1])
    # A seed a pass: the same whatever passes go together and in whichever thread.
    seeds = rng.integers(2**64, size=len(weights), dtype=np.uint64)
    if use_kernels(_NS_A_MATCH * matches.kinds.size * len(weights)):
        ratings = _rate_compiled(matches, scale, weights, seeds, comparisons.n_models)
    else:
        # two models more, whom the last kind is played by
        first = np.full((len(weights), comparisons.n_models + 2), scale.initial)
        slope = math.log(10) / scale.scale
        rated = rate_passes(matches, weights, seeds, first, scale.k, slope)
        ratings = np.ascontiguousarray(rated[:, : comparisons.n_models])
    _drop_absent(ratings, comparisons, scale.initial, weights)
    return ratings


def _rate_compiled(
    matches: Matches,
    scale: EloScale,
    weights: AnyWeights,
    seeds: NDArray[np.uint64],
    n_models: int,
) -> Floats:
    from judgelake.tasks.stats.kernels.elo import LANES

    ratings = np.full((len(weights), n_models), scale.initial)
    sizes = np.diff(matches.starts)
    firsts = range(0, len(weights), LANES)

    def rate_lanes(starts: range) -> None:
        orders = np.empty((LANES, 0), dtype=matches.kinds.dtype)
        for first in starts:
            part = slice(first, first + LANES)
            drawn = np.ascontiguousarray(weights[part])
            longest = int((drawn @ sizes).max(initial=0))
            if orders.shape[1] < longest:
                orders = np.empty((LANES, longest), dtype=matches.kinds.dtype)
            ratings[part] = _rate_lanes(
                matches, scale, drawn, seeds[part], orders, longest, n_models
            )

    run_in_threads(rate_lanes, [firsts[0::2], firsts[1::2]] if len(firsts) > 1 else [firsts])
    return ratings


def _drop_absent(
    ratings: Floats, comparisons: Comparisons, initial: float, weights: AnyWeights
) -> None:
    """Set NaN where a model met nobody: it kept the initial rating, as only few others did by
    chance.
    """
    for model in np.flatnonzero((ratings == initial).any(axis=0)):
        is_met = (comparisons.model_a == model) | (comparisons.model_b == model)
        clusters = np.unique(comparisons.clusters[is_met])
        ratings[~(weights[:, clusters] > 0).any(axis=1), model] = np.nan


def _rate_lanes(
    matches: Matches,
    scale: EloScale,
    drawn: AnyWeights,
    seeds: NDArray[np.uint64],
    orders: NDArray[np.uint16] | NDArray[np.uint32],
    longest: int,
    n_models: int,
) -> Floats:
    """Ratings of up to LANES passes, (passes, models)."""
    from judgelake.tasks.stats.kernels.elo import (
        LANES,
        repeat_matches,
        shuffle_matches,
        update_ratings,
    )

    orders[:, :longest] = matches.share_a.size - 1
    for lane, seed in enumerate(seeds):
        n = repeat_matches(matches.kinds, matches.starts, drawn[lane], orders[lane])
        shuffle_matches(orders[lane], n, seed)
    ratings = np.full((n_models + 2) * LANES, scale.initial)
    places = (matches.model_a * np.uint32(LANES), matches.model_b * np.uint32(LANES))
    update_ratings(
        orders, longest, *places, matches.share_a, scale.k, math.log(10) / scale.scale, ratings
    )
    return ratings.reshape(-1, LANES)[:n_models, : len(seeds)].T


def _fold_matches(comparisons: Comparisons, n_clusters: int) -> Matches:
    """Sort by cluster; a comparison is its kind, so that a pass reads a short code for each."""
    m = comparisons.n_models
    by_cluster = np.argsort(comparisons.clusters, kind="stable")
    a, b = comparisons.model_a[by_cluster], comparisons.model_b[by_cluster]
    shares, share = np.unique(1 - comparisons.preference_b[by_cluster], return_inverse=True)
    names, kinds = np.unique((a * m + b) * max(shares.size, 1) + share, return_inverse=True)
    pair = names // max(shares.size, 1)
    narrow = np.uint16 if names.size < 1 << 16 else np.uint32
    starts = np.concatenate(
        [[0], np.cumsum(np.bincount(comparisons.clusters, minlength=n_clusters))]
    )
    return Matches(
        # The last kind is played by two models that nobody sees: it fills the shorter lanes.
        np.append(pair // m, m).astype(np.uint32),
        np.append(pair % m, m + 1).astype(np.uint32),
        np.append(shares[names % max(shares.size, 1)] if names.size else shares, 0.5),
        kinds.astype(narrow),
        starts,
    )
