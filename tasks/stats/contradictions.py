"""Contradictions (CHIRP, sections 6.2.3 and C.2.8): questions in which a rater's preferences
between models run in a circle.

Ties, inconsistent and missing preferences are no edge of a question's graph. How often coin-flips
would contradict themselves on the same graphs is computed here too.

The share of orientations of a graph without a circle is its number of acyclic orientations over
2^edges (Stanley 1973, "Acyclic orientations of graphs"). What never lies on a circle falls away
first; then parts of up to `MOST_EXACT` models are counted exactly, larger ones simulated.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from judgelake.tasks.stats.cluster_sums import Floats, Indices

Flags = NDArray[np.bool_]


class PreferenceGraphs(NamedTuple):
    """The edges of all questions: winner and loser are numbers of a model in a question, `question`
    is its place in `questions`.

    `questions` are the codes of those with a preference, ties included, and `n_models` how many
    models each compares.
    """

    question: Indices
    winner: Indices
    loser: Indices
    questions: Indices
    n_models: Indices


class QuestionContradictions(NamedTuple):
    """Which questions hold a circle. `cyclic_triples` counts circles of three models, NaN where not
    every pair is decided.
    """

    questions: Indices
    has_cycle: Flags
    cyclic_triples: Floats
    rate: float


def find_contradictions(graphs: PreferenceGraphs) -> QuestionContradictions:
    """Exact on any graph; where every pair is decided the circles of three are C(n, 3) - sum of
    C(wins, 2), and none means none.

    Kendall & Babington Smith 1940, Biometrika 31, "On the method of paired comparisons". `rate` is
    NaN without questions.
    """
    triples = _count_triples(graphs)
    is_open = np.isnan(triples)[graphs.question]
    has_cycle = triples > 0
    has_cycle[graphs.question[find_circling(graphs.winner, graphs.loser, is_open)]] = True
    return QuestionContradictions(
        graphs.questions,
        has_cycle,
        triples,
        float(has_cycle.mean()) if has_cycle.size else float("nan"),
    )


def can_contradict(
    questions: Indices, model_a: Indices, model_b: Indices, preference_b: Floats
) -> bool:
    """Whether the pairs of any question close a circle: more pairs than models less parts that no
    pair links. Pairs of each model with one reference never do. Columns as in `build_graphs`.
    """
    is_there = ~np.isnan(preference_b)
    question, a, b = questions[is_there], model_a[is_there], model_b[is_there]
    n_codes = 1 + max(int(a.max(initial=0)), int(b.max(initial=0)))
    nodes, node = np.unique(
        np.concatenate([question, question]) * n_codes + np.concatenate([a, b]), return_inverse=True
    )
    ends = np.sort(node.reshape(2, -1), axis=0)
    pairs = np.unique(ends[0] * max(nodes.size, 1) + ends[1])
    low, high = np.divmod(pairs, max(nodes.size, 1))
    links = csr_array((np.ones(pairs.size), (low, high)), shape=(nodes.size, nodes.size))
    n_parts = connected_components(links, directed=False)[0] if nodes.size else 0
    return bool(pairs.size > nodes.size - n_parts)


def build_graphs(
    questions: Indices, model_a: Indices, model_b: Indices, preference_b: Floats
) -> PreferenceGraphs:
    """Fold rows of one rater and criterion; several rows of a pair (samples) make one edge, the
    side that most of them prefer.
    """
    if (
        not questions.shape == model_a.shape == model_b.shape == preference_b.shape
        or (model_a == model_b).any()
    ):
        raise ValueError(
            f"build_graphs: columns of {questions.size}, {model_a.size}, {model_b.size}, "
            f"{preference_b.size} rows, "
            f"{np.count_nonzero(model_a == model_b)} comparing a model with itself; expected "
            f"two models a row; leave such rows out"
        )
    is_there = ~np.isnan(preference_b)
    names, question = np.unique(questions[is_there], return_inverse=True)
    a, b = model_a[is_there], model_b[is_there]
    n_codes = 1 + max(int(a.max(initial=0)), int(b.max(initial=0)))
    nodes, node = np.unique(
        np.concatenate([question, question]) * n_codes + np.concatenate([a, b]), return_inverse=True
    )
    node_a, node_b = node[: a.size], node[a.size :]
    low, high = np.minimum(node_a, node_b), np.maximum(node_a, node_b)
    pairs, pair = np.unique(low * max(nodes.size, 1) + high, return_inverse=True)
    # Votes for the higher node, whichever side it was on.
    votes = np.bincount(
        pair, np.sign(preference_b[is_there] - 0.5) * np.sign(node_b - node_a), minlength=pairs.size
    )
    low, high, votes = (
        pairs[votes != 0] // max(nodes.size, 1),
        pairs[votes != 0] % max(nodes.size, 1),
        votes[votes != 0],
    )
    winner, loser = np.where(votes > 0, high, low), np.where(votes > 0, low, high)
    of_node = nodes // n_codes
    return PreferenceGraphs(
        of_node[winner], winner, loser, names, np.bincount(of_node, minlength=names.size)
    )


def find_circling(winner: Indices, loser: Indices, among: Flags) -> Indices:
    """Places of edges left when edges from unbeaten models are taken away again and again: every
    circle's, and what hangs below.
    """
    left = np.flatnonzero(among)
    n_nodes = 1 + int(np.maximum(winner, loser).max(initial=0))
    while left.size:
        is_beaten = np.zeros(n_nodes, dtype=bool)
        is_beaten[loser[left]] = True
        kept = left[is_beaten[winner[left]]]
        if kept.size == left.size:
            break
        left = kept
    return left


def _count_triples(graphs: PreferenceGraphs) -> Floats:
    n = graphs.n_models.astype(np.float64)
    edges = np.bincount(graphs.question, minlength=n.size)
    wins = np.bincount(graphs.winner)
    of_node = np.zeros(wins.size, dtype=np.int64)
    of_node[graphs.winner] = graphs.question
    ordered = np.bincount(of_node, wins * (wins - 1) / 2, minlength=n.size)
    triples: Floats = np.where(
        edges == n * (n - 1) / 2, n * (n - 1) * (n - 2) / 6 - ordered, np.nan
    )
    return triples


# models; with more the exact count takes too long
MOST_EXACT = 10
# edges simulated at a time, which bounds memory
_CHUNK_EDGES = 1 << 21

Edges = tuple[tuple[int, int], ...]


class CoinFlips(NamedTuple):
    """The chance of a contradiction in each question, its mean, and in how many questions a part
    was simulated.
    """

    chance: Floats
    rate: float
    n_simulated: int


def flip_coins(graphs: PreferenceGraphs, flips: int, rng: np.random.Generator) -> CoinFlips:
    """Chance of a contradiction per question, in the order of `graphs.questions`; `flips` times
    where it is simulated.
    """
    low, high = np.minimum(graphs.winner, graphs.loser), np.maximum(graphs.winner, graphs.loser)
    order = np.lexsort((high, low, graphs.question))
    n_edges = np.bincount(graphs.question, minlength=graphs.questions.size)
    known: dict[bytes, tuple[float, bool]] = {}
    chances: list[tuple[float, bool]] = []
    for places in np.split(order, np.cumsum(n_edges)[:-1]) if n_edges.size else []:
        ends = np.stack([low[places], high[places]])
        ends -= ends.min() if ends.size else 0
        key = ends.tobytes()
        if key not in known:
            known[key] = _flip_graph(ends, flips, rng)
        chances.append(known[key])
    chance = np.array([value for value, _ in chances])
    rate = float(chance.mean()) if chance.size else float("nan")
    return CoinFlips(chance, rate, sum(is_simulated for _, is_simulated in chances))


def _flip_graph(ends: Indices, flips: int, rng: np.random.Generator) -> tuple[float, bool]:
    """The chance of a circle in one graph, and whether it was simulated."""
    parts = _circling_parts(ends)
    acyclic = [
        _share_acyclic(part) if _is_small(part) else 1 - _simulate(part, flips, rng)
        for part in parts
    ]
    return 1 - math.prod(acyclic), not all(map(_is_small, parts))


def _circling_parts(ends: Indices) -> list[Edges]:
    """The connected parts left when models with one link are taken away again and again, their
    models numbered from 0.
    """
    n_nodes = int(ends.max(initial=0)) + 1
    while ends.size:
        is_linked = np.bincount(ends.ravel(), minlength=n_nodes) > 1
        kept = ends[:, is_linked[ends[0]] & is_linked[ends[1]]]
        if kept.size == ends.size:
            break
        ends = kept
    _, part = connected_components(
        csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n_nodes, n_nodes))
    )
    return [_renumber(ends[:, part[ends[0]] == name]) for name in np.unique(part[ends[0]])]


def _renumber(ends: Indices) -> Edges:
    low, high = np.sort(np.unique(ends, return_inverse=True)[1].reshape(2, -1), axis=0).tolist()
    return tuple(sorted(zip(low, high, strict=True)))


def _is_small(part: Edges) -> bool:
    return max(high for _, high in part) < MOST_EXACT


@lru_cache(maxsize=4096)
def _share_acyclic(part: Edges) -> float:
    """Acyclic orientations over all: those of a set of models sum, over its independent subsets,
    those of the rest, signs in turn.

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
