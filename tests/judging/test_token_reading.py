"""Probabilities of tokens: by hand, on what endpoints send, and on anything."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.judging import lave, likelihood
from judgelake.tasks.judging.lave import LaveOptions
from judgelake.tasks.judging.reading import read_rating_at_end
from judgelake.tasks.judging.token_reading import (
    find_position,
    read_choice_probability,
    read_token_shares,
    round_single,
    weigh_labels,
)
from judgelake.tasks.types import Reply, TokenLogprobs

LABELS = ("1", "2", "3")


def at(shares: dict[str, float]) -> TokenLogprobs:
    return tuple((token, math.log(share)) for token, share in shares.items())


@given(st.floats(0, 1))
def test_single_precision_is_numpy_s(value: float) -> None:
    assert (
        round_single(value) == float(np.float32(value)) == pytest.approx(value, rel=6e-8, abs=1e-45)
    )


def test_an_expected_level_has_single_precision() -> None:
    shares = read_token_shares(at({"1": 0.1, "2": 0.2, "3": 0.4}), LABELS)
    assert shares is not None
    assert shares.mean == float(np.float32(17 / 7))  # (0.1 + 0.4 + 1.2) / 0.7


def test_variants_are_summed_and_the_shares_renormalised() -> None:
    found = read_token_shares(
        at({"3": 0.4, " 3": 0.1, "▁2": 0.2, "\n1": 0.1, "4": 0.1, "33": 0.1}), LABELS
    )
    assert found is not None
    assert found.captured_mass == pytest.approx(0.8)
    assert found.probabilities == pytest.approx({"1": 0.125, "2": 0.25, "3": 0.625})
    assert found.mean == pytest.approx(2.5)  # 0.125 + 0.5 + 1.875


@pytest.mark.parametrize("token", ["３", "³", "3.", "03", "3 3", "three", "", " "])
def test_other_tokens_are_no_variants(token: str) -> None:
    assert read_token_shares(((token, 0.0),), LABELS) is None


@pytest.mark.parametrize("logprob", [-math.inf, math.nan, -1e9])
def test_a_label_that_cannot_come_has_no_share(logprob: float) -> None:
    assert read_token_shares((("3", logprob),), LABELS) is None
    found = read_token_shares((("3", logprob), ("2", -0.1)), LABELS)
    assert found is not None
    assert found.probabilities == {"1": 0.0, "2": 1.0, "3": 0.0}


def test_the_second_choice_s_share() -> None:
    found = read_choice_probability(at({"m": 0.2, "M": 0.6, " M": 0.1, "The": 0.1}), "m", "M")
    assert found is not None
    assert found.share_second == pytest.approx(0.75)
    assert found.captured_mass == pytest.approx(0.8)
    assert read_choice_probability(at({"The": 0.9, " m": 0.1}), "m", "M") is None


@given(
    st.lists(
        st.tuples(st.sampled_from(["1", " 2", "▁3", "x", ""]) | st.text(max_size=2), st.floats())
    )
)
def test_shares_are_a_distribution_or_nothing(alternatives: list[tuple[str, float]]) -> None:
    found = read_token_shares(tuple(alternatives), LABELS)
    if found is not None:
        assert math.isclose(sum(found.probabilities.values()), 1)
        assert 0 < found.captured_mass <= 1
        assert 1 <= found.mean <= 3


CERTAIN = -0.001


@given(
    st.text(alphabet="ab \n", max_size=8).map(lambda text: f"It names {text.strip()}."),
    st.sampled_from(["So rating=", "rating: ", "So **rating=", "rating is "]),
    st.sampled_from("123"),
    st.sampled_from(["", ".", "**", ".\n"]),
    st.sampled_from([(), ("</s>",), ("\n", "<|end|>")]),
    st.data(),
)
def test_the_position_of_the_rating_is_found_however_the_text_is_cut_into_tokens(
    before: str, marker: str, digit: str, after: str, end: tuple[str, ...], data: st.DataObject
) -> None:
    text = f"{before}\n{marker}{digit}{after}".strip()
    read = read_rating_at_end(text, "rating", (1, 2, 3))
    assert read is not None
    head, tail = text[: read.offset], text[read.offset + 1 :]
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(head) - 1)))))
    pieces = [head[a:b] for a, b in zip([0, *cuts], [*cuts, len(head)], strict=True) if head[a:b]]
    tokens = [*pieces, digit, *([tail] if tail else []), *end]
    positions = tuple(((token, CERTAIN), ("3", -9.0)) for token in tokens)
    assert find_position(text, positions, read.offset) == len(pieces)


@pytest.mark.parametrize(
    "positions",
    [
        (),
        ((),),
        ((("x", 0.0),),),
        ((("3", 0.0),), (), (("=", 0.0),)),
        ((("cat", CERTAIN),), (("=", CERTAIN),)),
    ],
)
def test_tokens_that_are_not_the_text_have_no_position(
    positions: tuple[TokenLogprobs, ...],
) -> None:
    assert find_position("rating=3", positions, 7) is None


@given(
    st.text(max_size=12),
    st.lists(
        st.lists(st.tuples(st.text(max_size=3), st.floats()), max_size=2).map(tuple), max_size=5
    ),
    st.integers(0, 12),
)
def test_no_tokens_make_the_search_raise(
    text: str, positions: list[TokenLogprobs], offset: int
) -> None:
    found = find_position(text, positions, offset)
    assert found is None or 0 <= found < len(positions)


@pytest.mark.parametrize("wrong", [0.5, 1e-3, 12.0, math.inf])
def test_a_log_probability_above_0_is_no_probability(wrong: float) -> None:
    position = (("2", -0.7), ("3", wrong))
    assert read_token_shares(position, "123") is None
    assert read_token_shares((("2", -0.7), ("x", wrong)), "123") is None
    assert read_choice_probability((("m", -0.1), ("M", wrong)), "m", "M") is None
    scored = Reply("", top_logprobs=((("a", -1.0),), (("cat", wrong),)))
    verdict = likelihood.read_verdict(scored)
    assert (verdict.status, verdict.score_0_1) == ("unparsed", None)
    options = LaveOptions(rating="weighted", top_logprobs=5)
    reply = Reply("So rating=3", top_logprobs=((("So rating=", -0.1),), position))
    assert lave.read_verdict(reply, options).status == "unparsed"


def test_a_certain_token_may_be_rounded() -> None:
    shares = read_token_shares((("3", 1e-7), ("2", -20.0)), "123")
    assert shares is not None
    assert shares.probabilities["3"] == pytest.approx(1.0)


def test_a_label_has_what_its_tokens_have_and_no_more() -> None:
    position = (("go", math.log(0.5)), (" good", math.log(0.25)), ("g", math.nan), ("b", 0.0))
    # `b` begins two labels; log-probabilities that are no numbers count nothing
    assert weigh_labels(position, ("good", "bad", "blank")) == pytest.approx(
        {"good": 0.75, "bad": 0, "blank": 0}
    )
