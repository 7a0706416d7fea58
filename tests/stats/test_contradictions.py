"""Contradictions and what coin-flips would give: brute force, closed forms, CHIRP's example."""

import itertools
import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.stats.contradictions import (
    build_graphs,
    can_contradict,
    find_contradictions,
    flip_coins,
)

NAN = math.nan
RNG = np.random.default_rng
Rows = list[tuple[int, int, int, float]]

any_rows = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 5),
        st.integers(0, 5),
        st.sampled_from([0.0, 1.0, 0.5, NAN]),
    ),
    max_size=30,
).map(lambda rows: [row for row in rows if row[1] != row[2]])


def columns_of(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    question, a, b = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(3))
    return question, a, b, np.array([row[3] for row in rows], dtype=np.float64)


def has_circle(edges: set[tuple[int, int]]) -> bool:
    """Whether some order of the models agrees with all edges, by the closure of 'is above'."""
    above = set(edges)
    while wider := {(x, w) for x, y in above for z, w in above if y == z} - above:
        above |= wider
    return any(x == y for x, y in above)


def edges_of(rows: Rows, question: int) -> set[tuple[int, int]]:
    """Winner and loser of each pair that most rows decide."""
    votes: dict[tuple[int, int], float] = {}
    for q, a, b, preference in rows:
        if q == question and not math.isnan(preference):
            low, high = min(a, b), max(a, b)
            votes[low, high] = votes.get((low, high), 0) + np.sign(preference - 0.5) * (
                1 if b > a else -1
            )
    return {(high, low) if vote > 0 else (low, high) for (low, high), vote in votes.items() if vote}


def complete(preferences: dict[tuple[int, int], float], question: int = 0) -> Rows:
    return [(question, a, b, preference) for (a, b), preference in preferences.items()]


@given(any_rows)
def test_pairs_that_close_a_circle(rows: Rows) -> None:
    """Against every way to decide the pairs: some way runs in a circle, or none does."""
    held = [row for row in rows if not math.isnan(row[3])]
    pairs = {question: sorted({(min(a, b), max(a, b)) for q, a, b, _ in held if q == question}) for question in range(4)}  # fmt: skip
    closes = any(
        has_circle({pair if side else pair[::-1] for pair, side in zip(some, sides, strict=True)})
        for some in pairs.values()
        for sides in itertools.product((True, False), repeat=len(some))
        if len(some) <= 8
    ) or any(len(some) > 8 for some in pairs.values())  # six models have no nine pairs without one
    assert can_contradict(*columns_of(rows)) == closes


def test_one_reference_closes_no_circle() -> None:
    star = [(question, 0, model, 1.0) for question in range(3) for model in range(1, 6)]
    assert not can_contradict(*columns_of(star))
    assert can_contradict(*columns_of([*star, (2, 3, 4, 0.5)]))


def test_the_papers_example() -> None:
    # Figure 23: the 6.9B model (2) over the 1.4B (1), that over the 410M (0), which is over the
    # 6.9B: a circle.
    rows = complete({(2, 1): 0.0, (1, 0): 0.0, (0, 2): 0.0}) + complete(
        {(2, 1): 0.0, (1, 0): 0.0, (0, 2): 1.0}, 9
    )
    found = find_contradictions(build_graphs(*columns_of(rows)))
    assert found.questions.tolist() == [0, 9]
    assert found.has_cycle.tolist() == [True, False]
    assert found.cyclic_triples.tolist() == [1, 0]
    assert found.rate == 0.5


def test_ties_and_missing_preferences_are_no_edges() -> None:
    rows = complete({(2, 1): 0.0, (1, 0): 0.0, (0, 2): 0.5}) + complete(
        {(2, 1): 0.0, (1, 0): 0.0, (0, 2): NAN}, 1
    )
    found = find_contradictions(build_graphs(*columns_of([*rows, (2, 0, 1, 0.5), (3, 0, 1, NAN)])))
    assert found.questions.tolist() == [0, 1, 2]  # nobody has a preference in question 3
    assert not found.has_cycle.any()
    assert np.isnan(found.cyclic_triples[:2]).all()


def test_circles_of_more_than_three_on_graphs_that_are_not_complete() -> None:
    # 0 > 1 > 2 > 3 > 0 with no diagonal decided, and a tail 3 > 4: not one triple is circular.
    rows = complete({(0, 1): 0.0, (1, 2): 0.0, (2, 3): 0.0, (3, 0): 0.0, (3, 4): 0.0})
    assert find_contradictions(build_graphs(*columns_of(rows))).has_cycle.tolist() == [True]


def test_several_samples_of_a_pair_are_one_edge() -> None:
    # 2 over 0 by two of three: a circle; by one of two: no edge.
    ring = {(2, 1): 1.0, (1, 0): 1.0}
    rows = [
        *complete(ring),
        (0, 0, 2, 1.0),
        (0, 2, 0, 0.0),
        (0, 0, 2, 0.0),
        *complete(ring, 1),
        (1, 0, 2, 1.0),
        (1, 2, 0, 1.0),
    ]
    found = find_contradictions(build_graphs(*columns_of(rows)))
    assert (
        found.has_cycle.tolist()
        == [has_circle(edges_of(rows, 0)), has_circle(edges_of(rows, 1))]
        == [True, False]
    )


@given(any_rows)
def test_any_graph_is_brute_force(rows: Rows) -> None:
    found = find_contradictions(build_graphs(*columns_of(rows)))
    assert found.questions.tolist() == sorted({row[0] for row in rows if not math.isnan(row[3])})
    assert found.has_cycle.tolist() == [
        has_circle(edges_of(rows, question)) for question in found.questions.tolist()
    ]


@given(st.integers(3, 6), st.randoms(use_true_random=False))
def test_closed_form_counts_the_circular_triples(n: int, random: Random) -> None:
    beats = {(a, b): random.randint(0, 1) for a, b in itertools.combinations(range(n), 2)}
    counted = sum(
        beats[a, b] == beats[b, c] != beats[a, c] for a, b, c in itertools.combinations(range(n), 3)
    )
    rows = complete({pair: float(value) for pair, value in beats.items()})
    found = find_contradictions(build_graphs(*columns_of(rows)))
    assert found.cyclic_triples.tolist() == [counted]
    assert found.has_cycle.tolist() == [counted > 0]


def test_coin_flips_on_complete_graphs_have_a_closed_form() -> None:
    # Of 2^C(n, 2) tournaments n! have no circle: 6 of 8, 24 of 64, 120 of 1,024, 10! of 2^45.
    for n, expected in (
        (2, 0),
        (3, 1 / 4),
        (4, 5 / 8),
        (5, 1 - 120 / 1024),
        (10, 1 - math.factorial(10) / 2**45),
    ):
        rows = complete(dict.fromkeys(itertools.combinations(range(n), 2), 1.0))
        assert flip_coins(build_graphs(*columns_of(rows)), 10, RNG(0)).rate == pytest.approx(
            expected, abs=1e-15
        )


def test_a_ring_contradicts_itself_two_ways_of_two_to_the_n() -> None:
    # Two rings of 3 and 5 that share no model, and a tail: 1 - (1 - 2/8)(1 - 2/32).
    ring = [(i, (i + 1) % 5) for i in range(5)] + [(5, 6), (6, 7), (7, 5), (7, 8), (8, 9)]
    found = flip_coins(build_graphs(*columns_of(complete(dict.fromkeys(ring, 1.0)))), 10, RNG(0))
    assert found.rate == pytest.approx(1 - (1 - 2 / 8) * (1 - 2 / 32))
    assert found.n_simulated == 0


@given(st.sets(st.sampled_from(list(itertools.combinations(range(6), 2))), max_size=7))
def test_coin_flips_on_any_graph_are_brute_force(pairs: set[tuple[int, int]]) -> None:
    graphs = build_graphs(*columns_of(complete(dict.fromkeys(pairs, 0.0))))
    flips = itertools.product((False, True), repeat=len(pairs))
    circling = [
        has_circle(
            {(b, a) if turned else (a, b) for (a, b), turned in zip(pairs, flip, strict=True)}
        )
        for flip in flips
    ]
    found = flip_coins(graphs, 10, RNG(0))
    if pairs:
        assert found.chance.tolist() == pytest.approx([sum(circling) / len(circling)])
    else:
        assert found.chance.size == 0
        assert math.isnan(found.rate)


def test_larger_graphs_are_simulated_and_counted() -> None:
    # A ring of 11 is too large to count: 2 of 2,048 are circles; a ring of three hangs on it by one
    # edge: 1/4.
    ring = [(i, (i + 1) % 11) for i in range(11)] + [(11, 12), (12, 13), (13, 11), (0, 11)]
    rows = complete(dict.fromkeys(ring, 1.0)) + complete(
        dict.fromkeys([(0, 1), (1, 2), (2, 0)], 1.0), 1
    )
    graphs = build_graphs(*columns_of(rows))
    found = flip_coins(graphs, 40_000, RNG(3))
    expected = 1 - (1 - 2 / 2048) * 3 / 4
    assert found.chance[0] == pytest.approx(
        expected, abs=5 * math.sqrt(expected * (1 - expected) / 40_000)
    )
    assert found.chance[1] == 1 / 4
    assert found.n_simulated == 1
    assert flip_coins(graphs, 50, RNG(3)).chance[0] == flip_coins(graphs, 50, RNG(3)).chance[0]


def test_coin_flips_contradict_themselves_as_often_as_said() -> None:
    # 400 questions of five random pairs of five models, as in CHIRP's survey, decided by coins.
    rng = RNG(0)
    pairs = np.array(list(itertools.combinations(range(5), 2)))
    chosen = np.concatenate([pairs[rng.permutation(10)[:5]] for _ in range(400)])
    columns = (
        np.repeat(np.arange(400), 5),
        chosen[:, 0],
        chosen[:, 1],
        rng.integers(0, 2, 2_000).astype(np.float64),
    )
    graphs = build_graphs(*columns)
    expected = flip_coins(graphs, 10, rng)
    error = math.sqrt((expected.chance * (1 - expected.chance)).sum()) / 400
    assert find_contradictions(graphs).rate == pytest.approx(expected.rate, abs=4 * error)
    assert 0 < expected.rate < 0.5


def test_nothing_to_contradict() -> None:
    graphs = build_graphs(*columns_of([]))
    assert math.isnan(find_contradictions(graphs).rate)
    assert math.isnan(flip_coins(graphs, 10, RNG(0)).rate)


def test_wrong_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="1 comparing a model with itself"):
        build_graphs(*columns_of([(0, 1, 1, 0.0)]))
