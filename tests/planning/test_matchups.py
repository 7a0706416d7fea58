"""Drawn matchups: the counts of the CHIRP paper's studies, balance, and that a draw is only ever
extended.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelake.tasks.planning.matchups import Pair, draw_matchups

QUESTIONS = 104  # of CHIRP


def make_models(n: int) -> dict[str, str]:
    """Answer id -> model, one answer a model."""
    return {f"answer-{number:02}": f"model-{number:02}" for number in range(n)}


def make_candidates(models: Mapping[str, str], items: int = QUESTIONS) -> dict[str, list[Pair]]:
    return {
        f"q{number}": list(itertools.combinations(sorted(models), 2)) for number in range(items)
    }


def count_models(pairs: Sequence[Pair], models: Mapping[str, str]) -> Counter[str]:
    counts = Counter(dict.fromkeys(models.values(), 0))
    counts.update(models[answer] for pair in pairs for answer in pair)
    return counts


def spread(counts: Counter[str] | Counter[Pair]) -> int:
    return max(counts.values()) - min(counts.values())


def join(*draws: Mapping[str, Sequence[Pair]]) -> dict[str, list[Pair]]:
    items = sorted({item for draw in draws for item in draw})
    return {item: [pair for draw in draws for pair in draw.get(item, ())] for item in items}


# paper, Table 15: 5 of 10 matchups of 5 models, 3 of 6 of 4, 25 of 190 of 20 (people), 50 of 190
# (GPT-4V)
@pytest.mark.parametrize(
    ("n", "k", "total"), [(5, 5, 520), (4, 3, 312), (20, 25, 2600), (20, 50, 5200)]
)
def test_the_paper_s_studies_are_balanced_in_each_item_over_items_and_over_pairs(
    n: int, k: int, total: int
) -> None:
    models = make_models(n)
    candidates = make_candidates(models)
    drawn = draw_matchups(candidates, {}, models, k, seed=0)
    assert {item: len(set(pairs)) for item, pairs in drawn.items()} == dict.fromkeys(candidates, k)
    assert all(set(drawn[item]) <= set(pairs) for item, pairs in candidates.items())
    everything = [pair for pairs in drawn.values() for pair in pairs]
    assert len(everything) == total
    # 2 k places over n models: 10 / 5 = 2 and 100 / 20 = 5 come out even, 6 / 4 and 50 / 20 leave a
    # difference of 1
    assert {spread(count_models(pairs, models)) for pairs in drawn.values()} == {
        0 if 2 * k % n == 0 else 1
    }
    assert spread(count_models(everything, models)) == 0  # 2 x 104 x k is a multiple of each n
    pairs_met = Counter(dict.fromkeys(candidates["q0"], 0))
    pairs_met.update(everything)
    assert spread(pairs_met) <= 4


def test_a_seed_gives_one_draw_whatever_the_order_and_another_seed_another() -> None:
    models = make_models(5)
    candidates = make_candidates(models, 20)
    backwards = {item: candidates[item][::-1] for item in reversed(candidates)}
    assert draw_matchups(candidates, {}, models, 5, seed=0) == draw_matchups(
        backwards, {}, models, 5, seed=0
    )
    assert draw_matchups(candidates, {}, models, 5, seed=0) != draw_matchups(
        candidates, {}, models, 5, seed=1
    )


@pytest.mark.parametrize("k", [10, 11, 500])
def test_all_pairs_are_drawn_where_k_reaches_them(k: int) -> None:
    models = make_models(5)
    candidates = make_candidates(models, 3)
    drawn = draw_matchups(candidates, {}, models, k, seed=0)
    assert {item: sorted(pairs) for item, pairs in drawn.items()} == candidates


def test_more_pairs_an_item_keep_those_there_are() -> None:
    models = make_models(20)
    candidates = make_candidates(models)
    first = draw_matchups(candidates, {}, models, 25, seed=3)
    more = draw_matchups(candidates, first, models, 50, seed=3)
    assert {len(more[item]) for item in candidates} == {25}
    assert not any(set(first[item]) & set(more[item]) for item in candidates)
    whole = join(first, more)
    assert max(spread(count_models(pairs, models)) for pairs in whole.values()) == 0


def test_new_items_are_drawn_beside_the_old_and_even_the_balance_out() -> None:
    models = make_models(5)
    candidates = make_candidates(models, 10)
    first = {
        "q0": [("answer-00", "answer-01")],
        "q1": [("answer-00", "answer-01")],
        "q2": [("answer-00", "answer-02")],
    }
    new = draw_matchups(candidates, first, models, 1, seed=0)
    assert sorted(new) == [f"q{number}" for number in range(3, 10)]
    # 7 new pairs, 14 places; the old ones gave 3, 2, 1, 0, 0: with 20 places each model comes to 4
    assert set(
        count_models(
            [pair for pairs in join(first, new).values() for pair in pairs], models
        ).values()
    ) == {4}


@pytest.mark.parametrize(("n", "k"), [(5, 5), (20, 25), (5, 1)])
def test_a_model_that_comes_later_gets_its_share_of_pairs(n: int, k: int) -> None:
    models = make_models(n + 1)
    *old, late = sorted(models)
    first = draw_matchups(
        make_candidates({answer: models[answer] for answer in old}), {}, models, k, seed=0
    )
    new = draw_matchups(make_candidates(models), first, models, k, seed=0)
    added = [pair for pairs in new.values() for pair in pairs]
    # k pairs of each of 104 items spread over n + 1 models
    assert len(added) == 2 * k * QUESTIONS // (n + 1)
    assert all(late in pair for pair in added)
    assert len(set(added)) == n
    opponents = count_models(added, models)
    del opponents[models[late]]
    assert spread(opponents) <= 2
    assert max(map(len, new.values())) - min(len(new.get(item, ())) for item in first) <= 1
    assert draw_matchups(make_candidates(models), join(first, new), models, k, seed=0) == {}


def test_samples_of_one_model_count_as_one() -> None:
    # two samples of m0, one of m1 and m2: pairs of different models only
    models = {"a0": "m0", "a1": "m0", "b": "m1", "c": "m2"}
    pairs = [("a0", "b"), ("a0", "c"), ("a1", "b"), ("a1", "c"), ("b", "c")]
    drawn = draw_matchups({f"q{number}": pairs for number in range(30)}, {}, models, 1, seed=0)
    counts = count_models([pair for chosen in drawn.values() for pair in chosen], models)
    assert set(counts.values()) == {20}  # 60 places over 3 models, not over 4 answers


def test_an_answer_of_no_known_model_is_one_of_its_own() -> None:
    candidates = {f"q{number}": [("a", "b"), ("a", "c"), ("b", "c")] for number in range(9)}
    drawn = draw_matchups(candidates, {}, {}, 1, seed=0)
    counts = Counter(answer for pairs in drawn.values() for pair in pairs for answer in pair)
    assert counts == {"a": 6, "b": 6, "c": 6}


ANSWERS = ["a", "b", "c", "d", "e", "f"]
SETS_OF_PAIRS = st.lists(
    st.sampled_from(list(itertools.combinations(ANSWERS, 2))), unique=True, max_size=15
)


@settings(max_examples=200)
@given(
    st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q4"]), SETS_OF_PAIRS),
    st.integers(1, 16),
    st.dictionaries(st.sampled_from(ANSWERS), st.sampled_from(["m1", "m2", "m3"])),
    st.integers(0, 3),
)
def test_whatever_pairs_there_are_enough_are_drawn_and_drawing_again_adds_nothing(
    candidates: dict[str, list[Pair]], k: int, models: dict[str, str], seed: int
) -> None:
    drawn = draw_matchups(candidates, {}, models, k, seed)
    for item, pairs in candidates.items():
        chosen = drawn.get(item, [])
        assert len(set(chosen)) == len(chosen) >= min(k, len(pairs))
        assert set(chosen) <= set(pairs)
    assert draw_matchups(candidates, drawn, models, k, seed) == {}
    halved = {item: pairs[: len(pairs) // 2] for item, pairs in candidates.items()}
    part = draw_matchups(halved, {}, models, k, seed)
    rest = draw_matchups(candidates, part, models, k, seed)
    assert all(not set(part.get(item, ())) & set(pairs) for item, pairs in rest.items())
    assert draw_matchups(candidates, join(part, rest), models, k, seed) == {}
