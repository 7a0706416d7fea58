"""How often preferences decided by coin-flips would contradict themselves on the graphs that a rater decided.

The share of orientations of a graph without a circle is its number of acyclic orientations over 2^edges (Stanley 1973, "Acyclic
orientations of graphs"). What never lies on a circle falls away first; then parts of up to `MOST_EXACT` models are counted
exactly, larger ones simulated.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tasks.stats.cluster_sums import Floats, Indices
from tasks.stats.contradictions import PreferenceGraphs, find_circling

MOST_EXACT = 10
_CHUNK_EDGES = 1 << 21

Edges = tuple[tuple[int, int], ...]


class CoinFlips(NamedTuple):
    """The chance of a contradiction in each question, its mean, and in how many questions a part was simulated."""

    chance: Floats
    rate: float
    n_simulated: int


def flip_coins(graphs: PreferenceGraphs, flips: int, rng: np.random.Generator) -> CoinFlips:
    """Chance of a contradiction per question, in the order of `graphs.questions`; `flips` times where it is simulated."""
    low, high = np.minimum(graphs.winner, graphs.loser), np.maximum(graphs.winner, graphs.loser)
    order = np.lexsort((high, low, graphs.question))
    n_edges = np.bincount(graphs.question, minlength=graphs.questions.size)
    found: dict[bytes, tuple[float, bool]] = {}
    chances: list[tuple[float, bool]] = []
    for places in np.split(order, np.cumsum(n_edges)[:-1]) if n_edges.size else []:
        ends = np.stack([low[places], high[places]])
        ends -= ends.min() if ends.size else 0
        key = ends.tobytes()
        if key not in found:
            found[key] = _flip_graph(ends, flips, rng)
        chances.append(found[key])
    chance = np.array([value for value, _ in chances])
    rate = float(chance.mean()) if chance.size else float("nan")
    return CoinFlips(chance, rate, sum(is_simulated for _, is_simulated in chances))


def _flip_graph(ends: Indices, flips: int, rng: np.random.Generator) -> tuple[float, bool]:
    """The chance of a circle in one graph, and whether it was simulated."""
    parts = _circling_parts(ends)
    acyclic = [_share_acyclic(part) if _is_small(part) else 1 - _simulate(part, flips, rng) for part in parts]
    return 1 - math.prod(acyclic), not all(map(_is_small, parts))


def _circling_parts(ends: Indices) -> list[Edges]:
    """The connected parts left when models with one link are taken away again and again, their models numbered from 0."""
    n_nodes = int(ends.max(initial=0)) + 1
    while ends.size:
        is_linked = np.bincount(ends.ravel(), minlength=n_nodes) > 1
        kept = ends[:, is_linked[ends[0]] & is_linked[ends[1]]]
        if kept.size == ends.size:
            break
        ends = kept
    _, part = connected_components(csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n_nodes, n_nodes)))
    return [_renumber(ends[:, part[ends[0]] == name]) for name in np.unique(part[ends[0]])]


def _renumber(ends: Indices) -> Edges:
    low, high = np.sort(np.unique(ends, return_inverse=True)[1].reshape(2, -1), axis=0).tolist()
    return tuple(sorted(zip(low, high, strict=True)))


def _is_small(part: Edges) -> bool:
    return max(high for _, high in part) < MOST_EXACT


@lru_cache(maxsize=4096)
def _share_acyclic(part: Edges) -> float:
    """Acyclic orientations over all: those of a set of models sum, over its independent subsets, those of the rest, signs in turn.

    The subset holds the unbeaten models; inclusion and exclusion makes each orientation count once.
    """
    n = 1 + max(high for _, high in part)
    if len(part) == n * (n - 1) // 2:
        return float(math.factorial(n) / 2 ** len(part))
    sets = np.arange(1, 1 << n)
    is_independent = np.ones(sets.size, dtype=bool)
    for low, high in part:
        is_independent &= (sets >> low & sets >> high & 1) == 0
    independent = sets[is_independent]
    sign = np.where(np.bitwise_count(independent) % 2 == 1, 1.0, -1.0)
    counts = np.ones(1 << n)
    for members in range(1, 1 << n):
        inside = (independent & ~members) == 0
        counts[members] = sign[inside] @ counts[members ^ independent[inside]]
    return float(counts[-1] / 2 ** len(part))


def _simulate(part: Edges, flips: int, rng: np.random.Generator) -> float:
    """Share of `flips` random orientations that hold a circle."""
    ends = np.array(part)
    n_nodes = int(ends.max()) + 1
    at_once = max(_CHUNK_EDGES // len(part), 1)
    n_circling = 0
    for start in range(0, flips, at_once):
        n = min(at_once, flips - start)
        is_turned = rng.integers(0, 2, (n, len(part)), dtype=np.int8).astype(bool)
        shift = np.arange(n)[:, None] * n_nodes
        winner, loser = (np.where(is_turned, ends[:, i], ends[:, 1 - i]) + shift for i in (0, 1))
        left = find_circling(winner.ravel(), loser.ravel(), np.ones(winner.size, dtype=bool))
        n_circling += np.unique(left // len(part)).size
    return n_circling / flips
