"""Which prompts run together: every prompt once, within the budget, upon beginnings that are really
theirs.
"""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.backends.local.batches import (
    LEAST_SHARED,
    PlannedPrompt,
    PromptBatch,
    Rules,
    count_common,
    plan_batches,
)

RULES = Rules(batch_tokens=10_000, overhead=100, pass_tokens=10_000)


def ask_each(keys: Sequence[Sequence[int]], room: int = 1) -> list[PlannedPrompt]:
    return [PlannedPrompt(tuple(key), room) for key in keys]


def test_one_beginning_of_all_is_shared() -> None:
    # 20 prompts of 300 + 10 tokens: together 300 + 20 x 10 + 100 (overhead) = 600; apart 20 x 410 =
    # 8,200
    asked = ask_each([[*range(300), *[1000 + n] * 10] for n in range(20)])
    assert plan_batches(asked, RULES) == [PromptBatch(tuple(range(20)), (300,))]


def test_two_sets_of_demonstrations_are_two_groups() -> None:
    keys = [[7] * 50 + [first] * 400 + [100 + n] * 20 for n in range(8) for first in (1, 2)]
    found = plan_batches(ask_each(keys), RULES)
    assert {batch.shared for batch in found} == {(50, 450)}
    assert {frozenset(batch.rows) for batch in found} == {
        frozenset(range(0, 16, 2)),
        frozenset(range(1, 16, 2)),
    }


def test_a_short_beginning_is_not_worth_a_pass() -> None:
    asked = ask_each([[5] * (LEAST_SHARED - 1) + [100 + n] * 50 for n in range(4)])
    assert plan_batches(asked, RULES) == [PromptBatch((0, 1, 2, 3), ())]


def test_the_last_token_is_never_shared() -> None:
    same = ask_each([[1] * 100] * 3)
    assert plan_batches(same, RULES) == [PromptBatch((0, 1, 2), (99,))]
    assert [one.shareable for one in same] == [99, 99, 99]


def test_prompts_of_different_images_run_apart_each_upon_its_own() -> None:
    # -1 and -2 are two pictures of 30 tokens; the five texts behind each are far shorter than what
    # a further pass costs
    asked = [
        PlannedPrompt((9, *[image] * 30, 3, *[40 + n] * 6), 1, images_end=31)
        for image in (-1, -2)
        for n in range(5)
    ]
    found = plan_batches(asked, RULES)
    assert [sorted(batch.rows) for batch in sorted(found, key=lambda one: min(one.rows))] == [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
    ]
    assert {batch.shared for batch in found} == {(32,)}
    assert plan_batches([asked[0]], RULES) == [PromptBatch((0,), (31,))]


def test_rows_beyond_the_window_have_like_lengths() -> None:
    rules = RULES._replace(window=60)
    asked = ask_each(
        [[1, number] + [5] * (20 if number % 2 else 70) for number in range(4)] + [[2] * 10]
    )
    lengths = [{len(asked[row].key) for row in batch.rows} for batch in plan_batches(asked, rules)]
    assert {72} in lengths
    assert {22, 10} in lengths


KEYS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=60), min_size=1, max_size=30)


@given(KEYS, st.integers(1, 6), st.integers(20, 400), st.integers(0, 200), st.integers(0, 20))
def test_every_prompt_runs_once_within_the_budget(
    keys: list[list[int]], room: int, budget: int, overhead: int, eyes: int
) -> None:
    asked = [
        PlannedPrompt((*[-1 - number % 3] * eyes, *key), room, 1, eyes if number % 2 else 0)
        if number % 2
        else PlannedPrompt(tuple(key), room)
        for number, key in enumerate(keys)
    ]
    found = plan_batches(asked, Rules(budget, overhead, budget))
    assert sorted(row for batch in found for row in batch.rows) == list(range(len(keys)))
    for batch in found:
        members = [asked[row] for row in batch.rows]
        assert (
            len(members) == 1
            or len(members) * (max(len(one.key) for one in members) + room) <= budget
        )
        assert list(batch.shared) == sorted(set(batch.shared))
        for one in members:
            top = max(batch.shared, default=0)
            assert one.images_end <= top <= one.shareable
            assert one.key[:top] == members[0].key[:top]


@given(
    st.lists(st.integers(0, 1), max_size=40),
    st.lists(st.integers(0, 1), max_size=40),
    st.integers(0, 50),
)
def test_common_tokens_are_counted(one: list[int], other: list[int], most: int) -> None:
    plain = 0
    while plain < min(len(one), len(other), most) and one[plain] == other[plain]:
        plain += 1
    assert count_common(one, other, most) == plain
