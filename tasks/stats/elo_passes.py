"""Elo ratings over few comparisons: all passes side by side in numpy, with the draws, orders and
roundings of the compiled loops (`tasks.stats.kernels.elo`), so with their very numbers.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.cluster_sums import AnyWeights, Floats, Indices
from judgelake.tasks.stats.resampling import STEP, mix_bits

LOG2_E = 1 / math.log(2)
# ln 2 in two parts (Cody & Waite 1980), and the number that rounds a double to an integer held in
# its low bits.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUNDER = 6755399441055744.0


class Matches(NamedTuple):
    """Kinds of comparison (two models, a's share) and each cluster's run of them; the last kind
    changes nothing.
    """

    model_a: NDArray[np.uint32]
    model_b: NDArray[np.uint32]
    share_a: Floats
    kinds: NDArray[np.uint16] | NDArray[np.uint32]
    starts: Indices


def rate_passes(
    matches: Matches,
    drawn: AnyWeights,
    seeds: NDArray[np.uint64],
    first_ratings: Floats,
    k: float,
    slope: float,
) -> Floats:
    """Ratings after each pass, (passes, models), of the clusters `drawn`, (passes, clusters), each
    pass in the order of its seed; `first_ratings` are those before.
    """
    ratings, passes = first_ratings.copy(), np.arange(len(drawn))
    for kinds in _order_matches(matches, drawn, seeds).T:
        a, b = (passes, matches.model_a[kinds]), (passes, matches.model_b[kinds])
        odds = _raise_e(np.clip(slope * (ratings[b] - ratings[a]), -700.0, 700.0))
        change = k * (matches.share_a[kinds] - 1.0 / (1.0 + odds))
        ratings[a] += change
        ratings[b] -= change
    return ratings


def _order_matches(
    matches: Matches, drawn: AnyWeights, seeds: NDArray[np.uint64]
) -> NDArray[np.unsignedinteger]:
    """(passes, longest): the kinds of each pass in its order, then the last kind."""
    sizes = np.diff(matches.starts)
    n = drawn.astype(np.int64) @ sizes
    repeated = np.repeat(np.tile(np.arange(sizes.size), len(drawn)), drawn.ravel())
    lengths = sizes[repeated]
    begins = np.cumsum(lengths) - lengths
    places = np.arange(n.sum()) - np.repeat(begins - matches.starts[repeated], lengths)
    last_kind = matches.share_a.size - 1
    orders = np.full((len(drawn), int(n.max(initial=0))), last_kind, dtype=matches.kinds.dtype)
    orders[np.arange(orders.shape[1]) < n[:, None]] = matches.kinds[places]
    _shuffle(orders, n, seeds)
    return orders


def _shuffle(orders: NDArray[np.unsignedinteger], n: Indices, seeds: NDArray[np.uint64]) -> None:
    """Shuffle the first n of each row in place: Fisher-Yates by splitmix64 (Steele et al. 2014),
    without the bias of a remainder (Lemire 2019).
    """
    states, products = seeds.copy(), np.zeros(seeds.size, dtype=np.uint64)
    for last in range(orders.shape[1] - 1, 0, -1):
        rows = left = np.flatnonzero(n > last)
        size = np.uint64(last + 1)
        least = (np.uint64(1 << 32) - size) % size
        while left.size:
            states[left] += STEP
            products[left] = (mix_bits(states[left]) >> np.uint64(32)) * size
            left = left[(products[left] & np.uint64(0xFFFFFFFF)) < least]
        places = products[rows] >> np.uint64(32)
        held = orders[rows, last]
        orders[rows, last] = orders[rows, places]
        orders[rows, places] = held


def _raise_e(x: Floats) -> Floats:
    """e^x as 2^q e^f, which the compiled loops compute for |x| <= 700."""
    q = (x * LOG2_E + ROUNDER) - ROUNDER
    f = (x - q * LN2_HIGH) - q * LN2_LOW
    power = np.full_like(f, 1 / math.factorial(13))
    for i in range(12, -1, -1):
        power = 1 / math.factorial(i) + f * power
    return np.ldexp(power, q.astype(np.int32))
