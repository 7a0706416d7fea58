"""The compiled loops of `tasks.stats.elo`. Imports numba, so import it inside functions.

Sixteen sequences of matches go in lockstep: one update waits for the one before it, sixteen of them
fill the processor's vectors.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.elo_passes import LN2_HIGH, LN2_LOW, LOG2_E, ROUNDER
from judgelake.tasks.stats.kernels.compiled import compile_loop

# orders computed side by side, so that the processor's vectors are used
LANES = 16
Kinds = NDArray[np.unsignedinteger[Any]]
Places = NDArray[np.int64]
Codes = NDArray[np.uint32]
Floats = NDArray[np.float64]
Drawn = NDArray[np.integer[Any]]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
# shift and mask for the high and the low 32 bits
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1 / math.factorial(i) for i in range(3, 14)
)


@compile_loop
def repeat_matches(kinds: Kinds, starts: Places, drawn: Drawn, order: Kinds) -> int:
    """Write the matches of each cluster, kinds[starts[c] : starts[c + 1]], drawn[c] times; returns
    how many were written.
    """
    n = 0
    for c in range(drawn.size):
        for _ in range(drawn[c]):
            for i in range(starts[c], starts[c + 1]):
                order[n] = kinds[i]
                n += 1
    return n


@compile_loop
def shuffle_matches(order: Kinds, n: int, seed: np.uint64) -> None:
    """Shuffle the first n in place: Fisher-Yates by splitmix64 (Steele et al. 2014), without the
    bias of a remainder (Lemire 2019).
    """
    state = seed
    for last in range(n - 1, 0, -1):
        size = np.uint64(last + 1)
        product = np.uint64(0)
        low, least = np.uint64(0), np.uint64(1)
        while low < least:
            state += _GOLDEN
            z = (state ^ (state >> np.uint64(30))) * _FIRST
            z = (z ^ (z >> np.uint64(27))) * _SECOND
            z ^= z >> np.uint64(31)
            product = (z >> _HALF) * size
            low = product & _LOW
            least = np.uint64(0) if low >= size else (np.uint64(4294967296) - size) % size
        place = product >> _HALF
        order[last], order[place] = order[place], order[last]


@compile_loop
def update_ratings(
    orders: Kinds,
    longest: int,
    model_a: Codes,
    model_b: Codes,
    share_a: Floats,
    k: float,
    slope: float,
    ratings: Floats,
) -> None:
    """Elo updates in the lanes' orders, (LANES, matches), of kinds of match; `ratings` is (models,
    LANES), laid out flat.

    e^x is 2^q e^f, the polynomial to f^13 exact to the last digits of a double for |f| <= ln 2 / 2.
    """
    gap, power, f_power = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    bits = power.view(np.int64)
    share = np.empty(LANES)
    place_a, place_b = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    for i in range(longest):
        for lane in range(LANES):
            kind = orders[lane, i]
            a, b = model_a[kind] + np.uint32(lane), model_b[kind] + np.uint32(lane)
            place_a[lane], place_b[lane], share[lane] = a, b, share_a[kind]
            gap[lane] = slope * (ratings[b] - ratings[a])
        for lane in range(LANES):
            x = min(max(gap[lane], -700.0), 700.0)
            rounded = x * LOG2_E + ROUNDER
            q = rounded - ROUNDER
            f = (x - q * LN2_HIGH) - q * LN2_LOW
            power[lane] = rounded
            high = _C8 + f * (_C9 + f * (_C10 + f * (_C11 + f * (_C12 + f * _C13))))
            f_power[lane] = 1.0 + f * (
                1.0
                + f * (0.5 + f * (_C3 + f * (_C4 + f * (_C5 + f * (_C6 + f * (_C7 + f * high))))))
            )
        for lane in range(LANES):
            bits[lane] = (bits[lane] + 1023) << 52
        for lane in range(LANES):
            gap[lane] = k * (share[lane] - 1.0 / (1.0 + f_power[lane] * power[lane]))
        for lane in range(LANES):
            ratings[place_a[lane]] += gap[lane]
            ratings[place_b[lane]] -= gap[lane]
