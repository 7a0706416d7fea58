"""Contradictions (CHIRP, sections 6.2.3 and C.2.8): questions in which a rater's preferences between models run in a circle.

Ties, inconsistent and missing preferences are no edge of a question's graph. How often coin-flips would contradict themselves on
the same graphs lives in `tasks.stats.coin_flips`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.stats.cluster_sums import Floats, Indices

Flags = NDArray[np.bool_]


class PreferenceGraphs(NamedTuple):
    """The edges of all questions: winner and loser are numbers of a model in a question, `question` is its place in `questions`.

    `questions` are the codes of those with a preference, ties included, and `n_models` how many models each compares.
    """

    question: Indices
    winner: Indices
    loser: Indices
    questions: Indices
    n_models: Indices


class Contradictions(NamedTuple):
    """Which questions hold a circle. `cyclic_triples` counts circles of three models, NaN where not every pair is decided."""

    questions: Indices
    has_cycle: Flags
    cyclic_triples: Floats
    rate: float


def find_contradictions(graphs: PreferenceGraphs) -> Contradictions:
    """Exact on any graph; where every pair is decided the circles of three are C(n, 3) - sum of C(wins, 2), and none means none.

    Kendall & Babington Smith 1940, Biometrika 31, "On the method of paired comparisons". `rate` is NaN without questions.
    """
    triples = _count_triples(graphs)
    is_open = np.isnan(triples)[graphs.question]
    has_cycle = triples > 0
    has_cycle[graphs.question[find_circling(graphs.winner, graphs.loser, is_open)]] = True
    return Contradictions(graphs.questions, has_cycle, triples, float(has_cycle.mean()) if has_cycle.size else float("nan"))


def build_graphs(questions: Indices, model_a: Indices, model_b: Indices, preference_b: Floats) -> PreferenceGraphs:
    """Fold rows of one rater and criterion; several rows of a pair (samples) make one edge, the side that most of them prefer."""
    if not questions.shape == model_a.shape == model_b.shape == preference_b.shape or (model_a == model_b).any():
        raise ValueError(
            f"build_graphs: columns of {questions.size}, {model_a.size}, {model_b.size}, {preference_b.size} rows, "
            f"{np.count_nonzero(model_a == model_b)} comparing a model with itself; expected two models a row; leave such rows out"
        )
    is_there = ~np.isnan(preference_b)
    names, question = np.unique(questions[is_there], return_inverse=True)
    a, b = model_a[is_there], model_b[is_there]
    n_codes = 1 + max(int(a.max(initial=0)), int(b.max(initial=0)))
    nodes, node = np.unique(np.concatenate([question, question]) * n_codes + np.concatenate([a, b]), return_inverse=True)
    node_a, node_b = node[: a.size], node[a.size :]
    low, high = np.minimum(node_a, node_b), np.maximum(node_a, node_b)
    pairs, pair = np.unique(low * max(nodes.size, 1) + high, return_inverse=True)
    # Votes for the higher node, whichever side it was on.
    votes = np.bincount(pair, np.sign(preference_b[is_there] - 0.5) * np.sign(node_b - node_a), minlength=pairs.size)
    low, high, votes = pairs[votes != 0] // max(nodes.size, 1), pairs[votes != 0] % max(nodes.size, 1), votes[votes != 0]
    winner, loser = np.where(votes > 0, high, low), np.where(votes > 0, low, high)
    of_node = nodes // n_codes
    return PreferenceGraphs(of_node[winner], winner, loser, names, np.bincount(of_node, minlength=names.size))


def find_circling(winner: Indices, loser: Indices, among: Flags) -> Indices:
    """Places of edges left when edges from unbeaten models are taken away again and again: every circle's, and what hangs below."""
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
    triples: Floats = np.where(edges == n * (n - 1) / 2, n * (n - 1) * (n - 2) / 6 - ordered, np.nan)
    return triples
