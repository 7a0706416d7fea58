"""HarmonicEval's readings: the expected rating of the first token, drawn ratings, and the overall
score, by hand and in general.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.judging.harmonic_reading import (
    NO_LOGPROBS,
    HarmonicReading,
    read_criterion,
    read_draws,
    read_overall,
    read_reply,
)
from judgelake.tasks.judging.token_reading import find_opening
from judgelake.tasks.types import Failure, Reply, TokenLogprobs, Verdict


def reading(**changes: Any) -> HarmonicReading:
    return HarmonicReading(**{
        "smoothing": "expected", "gamma": 0.75, "min_mass": 0.5, "pseudo_count": 0.2, "drawn": False, **changes,
    })  # fmt: skip


def position(**shares: float) -> TokenLogprobs:
    return tuple((token.removeprefix("n"), math.log(share)) for token, share in shares.items())


def tokens(*shares: dict[str, float]) -> tuple[TokenLogprobs, ...]:
    return tuple(tuple((token, math.log(share)) for token, share in one.items()) for one in shares)


def first(text: str, shares: dict[str, float], **more: Any) -> Reply:
    return Reply(text, top_logprobs=tokens(shares), **more)


# ---- the first token


def test_the_expected_rating_by_hand() -> None:
    found = read_reply(first("4", {"4": 0.5, "5": 0.3, "3": 0.1, "The": 0.06}), reading())
    # 3, 4 and 5 hold 0.9: (0.3 + 2 + 1.5) / 0.9 = 3.8 / 0.9 = 4.2222; (4.2222 - 1) / 4 = 0.80556
    assert (found.status, found.rationale, found.reason) == ("ok", None, None)
    assert found.rating == pytest.approx(3.8 / 0.9)
    assert found.score_0_1 == pytest.approx((3.8 / 0.9 - 1) / 4)
    assert found.captured_mass == pytest.approx(0.9)
    assert found.probabilities == pytest.approx(
        {"1": 0, "2": 0, "3": 1 / 9, "4": 5 / 9, "5": 3 / 9}
    )


def test_token_variants_are_summed_and_other_scripts_digits_are_not() -> None:
    shares = {
        "5": 0.4,
        " 5": 0.2,
        "▁5": 0.1,
        "5\n": 0.05,
        "５": 0.1,
        "٥": 0.02,
        "⑤": 0.01,
        "4": 0.1,
    }
    found = read_reply(first("5", shares), reading())
    # 5: 0.4 + 0.2 + 0.1 + 0.05 = 0.75; 4: 0.1; (3.75 + 0.4) / 0.85 = 4.88235
    assert found.captured_mass == pytest.approx(0.85)
    assert found.rating == pytest.approx(4.15 / 0.85)


@given(st.lists(st.floats(0.01, 1), min_size=5, max_size=5), st.floats(0.6, 1))
def test_the_expected_rating_is_numpy_s(weights: list[float], mass: float) -> None:
    shares = mass * np.array(weights) / sum(weights)
    found = read_reply(
        first("3", {str(n): float(share) for n, share in enumerate(shares, 1)}), reading()
    )
    assert found.rating == pytest.approx(float(np.average(np.arange(1, 6), weights=shares)))
    assert found.captured_mass == pytest.approx(mass)


def test_five_alternatives_are_enough_and_what_is_not_listed_counts_as_0() -> None:
    found = read_reply(
        first("5", {"5": 0.8, "4": 0.1, "Five": 0.05, "The": 0.02, "**": 0.01}), reading()
    )
    assert found.rating == pytest.approx(4.4 / 0.9)  # 4 + 0.4


def test_too_little_mass_is_unparsed_with_what_was_captured() -> None:
    reply = first("The caption is good: 4", {"The": 0.6, "4": 0.2, "5": 0.1})
    found = read_reply(reply, reading())
    assert (found.status, found.rating, found.score_0_1, found.rationale) == (
        "unparsed",
        None,
        None,
        reply.text,
    )
    assert (
        found.reason
        == "the ratings 1 to 5 hold 0.3 of the first token's probability, less than 0.5"
    )
    assert found.captured_mass == pytest.approx(0.3)
    assert read_reply(reply, reading(min_mass=0.3)).rating == pytest.approx(1.3 / 0.3)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("4"), NO_LOGPROBS),
        (
            first("Good.", {"Good": 0.9}),
            "none of the ratings 1 to 5 is among the first token's alternatives",
        ),
        (
            first('{"rating": 4}', {'{"': 0.9}),
            "none of the ratings 1 to 5 is among the first token's alternatives",
        ),
        (first("4", {"five": 0.9}), "the reply's text does not begin with its tokens"),
        (first("", {"4": 0.9}), "the reply does not begin with a rating from 1 to 5"),
    ],
)
def test_a_reply_without_a_first_rating_is_unparsed(reply: Reply, reason: str) -> None:
    found = read_reply(reply, reading())
    assert (found.status, found.reason, found.rationale, found.score_0_1) == (
        "unparsed",
        reason,
        reply.text,
        None,
    )


def test_a_missing_probability_names_the_option_that_does_without() -> None:
    assert "`sampling: " in NO_LOGPROBS


@pytest.mark.parametrize(
    "text", ["10", "4.5", "45", "3-4", "4/10", "-4", "4 or 5", "1. It names\n2. It lacks"]
)
def test_another_number_is_no_rating_even_if_its_first_token_is_one(text: str) -> None:
    for smoothing in ("expected", "none"):
        found = read_reply(first(text, {text[0]: 0.99}), reading(smoothing=smoothing))
        assert (found.status, found.score_0_1) == ("unparsed", None)


# LLaMA's tokeniser sends a blank of its own before a digit; what is blanks and emphasis alone says
# nothing about the rating.
@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("4", [{"▁": 0.9, "4": 0.05}]), (" 4", [{" ": 0.9}]), ("**4**", [{"**": 0.6, "4": 0.3}]), ("\n\n4", [{"\n\n": 0.9}]),
        ("\n *4*", [{"\n": 0.9}, {" *": 0.9}]), ("4", []),
    ],
)  # fmt: skip
def test_blanks_and_emphasis_before_the_rating_are_passed_over(
    text: str, before: list[dict[str, float]]
) -> None:
    found = read_reply(
        Reply(text, top_logprobs=tokens(*before, {"4": 0.7, "5": 0.2}, {"**": 0.9})), reading()
    )
    assert found.rating == pytest.approx(3.8 / 0.9)
    assert found.captured_mass == pytest.approx(0.9)


def test_the_place_is_the_chosen_token_s_not_the_likeliest_one_s() -> None:
    assert find_opening("4", tokens({"5": 0.6, "4": 0.3})) == 0
    assert find_opening("4", tokens({"**": 0.6, "4": 0.3}, {"5": 0.9})) == 0
    assert find_opening("**4", tokens({"**": 0.4, "4": 0.6}, {"4": 0.9})) == 1
    assert find_opening("4", ()) is None


def test_the_rating_that_the_reply_says_counts_without_smoothing() -> None:
    reply = first("4. It names the cat.", {"4": 0.5, "5": 0.4})
    found = read_reply(reply, reading(smoothing="none"))
    assert (found.rating, found.score_0_1, found.rationale) == (4, 0.75, "It names the cat")
    assert found.probabilities is not None  # weighing needs them
    alone = read_reply(Reply("4"), reading(smoothing="none", gamma=1.0))
    assert (alone.status, alone.rating, alone.probabilities, alone.captured_mass) == (
        "ok",
        4,
        None,
        None,
    )
    assert read_reply(Reply("4"), reading(smoothing="none")).reason == NO_LOGPROBS


# (r - 1) / 4
@pytest.mark.parametrize(("rating", "score"), [(1, 0.0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1.0)])
def test_a_certain_rating_is_mapped_to_0_1(rating: int, score: float) -> None:
    found = read_reply(first(str(rating), {str(rating): 1.0}), reading())
    assert (found.rating, found.score_0_1) == (rating, score)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Failure("503"), "failed"),
        (Reply("", refusal="no"), "refused"),
        (first("4", {"4": 1.0}, finish_reason="content_filter"), "filtered"),
        (first("4 because it", {"4": 1.0}, finish_reason="length"), "ok"),
        (first("", {"<think>": 1.0}, finish_reason="length"), "truncated"),
        (first("1. It names the cat and", {"1": 1.0}, finish_reason="length"), "truncated"),
    ],
)
def test_what_cannot_be_read_says_why(reply: Reply | Failure, status: str) -> None:
    found = read_reply(reply, reading())
    assert found.status == status
    assert (found.score_0_1 is None) == (status != "ok")


REPLIES = st.text() | st.lists(
    st.sampled_from(["4", "5", "10", ".", " ", "**", "-", "５", "cat", "\n"]), max_size=6
).map("".join)
POSITIONS = st.lists(
    st.lists(st.tuples(REPLIES, st.floats(-20, 0)), max_size=5).map(tuple), max_size=4
).map(tuple)  # fmt: skip


@given(
    REPLIES,
    POSITIONS,
    st.sampled_from(["stop", "length", "content_filter"]),
    st.sampled_from(["expected", "none"]),
)
def test_no_reply_raises_and_a_score_stands_exactly_where_it_is_ok(
    text: str, positions: tuple[TokenLogprobs, ...], finish_reason: str, smoothing: str
) -> None:
    found = read_reply(Reply(text, finish_reason, positions), reading(smoothing=smoothing))
    assert (found.status == "ok") == (found.score_0_1 is not None) == (found.rating is not None)
    if found.status == "ok":
        listed = {token.replace("▁", " ").strip() for one in positions for token, _ in one}
        assert listed & set("12345")
        assert found.rating is not None
        assert 1 <= found.rating <= 5


# ---- drawn ratings


def drawn(texts: Sequence[str], **changes: Any) -> Verdict:
    return read_draws([Reply(text) for text in texts], reading(drawn=True, **changes))


def test_drawn_ratings_are_counted_with_pseudo_counts() -> None:
    found = drawn(["5", "4", "I cannot tell.", "5"])
    # three draws and 5 x 0.2 = 1: 5 has (2 + 0.2) / 4 = 0.55, 4 has 1.2 / 4 = 0.3, the others 0.05
    # each
    assert found.probabilities == pytest.approx(
        {"1": 0.05, "2": 0.05, "3": 0.05, "4": 0.3, "5": 0.55}
    )
    assert found.rating == pytest.approx(4.25)  # 2.75 + 1.2 + 0.05 x (1 + 2 + 3)
    assert found.score_0_1 == pytest.approx(0.8125)
    assert (found.status, found.captured_mass, found.rationale) == ("ok", None, "drawn: 5 4 5")
    assert (
        found.reason
        == "estimated from 3 drawn ratings with pseudo-counts of 0.2, not from log-probabilities"
    )


def test_without_pseudo_counts_the_mean_of_the_draws_is_left() -> None:
    assert drawn(["5", "4", "4", "3"], pseudo_count=0.0).rating == pytest.approx(4)
    assert drawn(["5", "5"], pseudo_count=0.0).probabilities == {
        "1": 0,
        "2": 0,
        "3": 0,
        "4": 0,
        "5": 1,
    }


def test_too_few_draws_with_a_rating_are_unparsed() -> None:
    found = drawn(["5", "?", "?", "?"])
    assert (found.status, found.rating, found.rationale) == ("unparsed", None, "?")
    assert found.reason == "1 of 4 draws have a rating from 1 to 5, less than a share of 0.5"
    assert drawn(["?", "?"], min_mass=0.0).status == "unparsed"
    assert drawn(["5", "?"]).status == "ok"


def test_a_draw_that_failed_fails_the_verdict_so_that_it_is_tried_again() -> None:
    found = read_draws([Reply("5"), Failure("503"), Reply("5")], reading(drawn=True))
    assert (found.status, found.reason) == ("failed", "503")


def test_a_refused_draw_is_one_without_a_rating() -> None:
    assert (
        read_draws([Reply("5"), Reply("", refusal="no")], reading(drawn=True, min_mass=0.9)).status
        == "refused"
    )


# ---- the overall score

CERTAIN: Verdict = read_criterion("fluency", [first("5", {"5": 1.0})], reading())
NARROW = read_criterion(
    "correctness", [first("4", {"4": 0.5, "5": 0.5})], reading()
)  # 4.5, spread 0.5
WIDE = read_criterion("completeness", [first("1", {"1": 0.5, "5": 0.5})], reading())  # 3, spread 2


@pytest.mark.parametrize(
    ("gamma", "overall"),
    [
        (1.0, 3.75),  # (4.5 + 3) / 2
        (0.5, 75 / 17),  # spread^-2: 4 and 1/4, so 16/17 and 1/17: (72 + 3) / 17
        (
            0.75,
            4.073844,
        ),  # (2 / 0.5)^(2/3) = 2.519842, so 0.715896 and 0.284104: 3 + 1.5 x 0.715896
        (0.0, 4.5),
    ],
)
def test_the_overall_score_by_hand(gamma: float, overall: float) -> None:
    found = read_overall({"correctness": NARROW, "completeness": WIDE}, reading(gamma=gamma))
    assert found.rating == pytest.approx(overall, abs=1e-6)
    assert found.score_0_1 == pytest.approx((overall - 1) / 4, abs=1e-6)
    assert (found.status, found.captured_mass, found.probabilities) == ("ok", None, None)


def test_the_overall_score_shows_what_it_is_made_of() -> None:
    found = read_overall({"correctness": NARROW, "completeness": WIDE}, reading(gamma=0.5))
    assert found.rationale == "correctness 4.500 (weight 0.941); completeness 3.000 (weight 0.059)"


def test_a_criterion_without_spread_takes_the_whole_weight() -> None:
    verdicts = {"correctness": NARROW, "fluency": CERTAIN}
    assert read_overall(verdicts, reading()).rating == 5
    assert read_overall(verdicts, reading(gamma=1.0)).rating == 4.75


def test_one_criterion_alone_is_the_overall_score() -> None:
    assert read_overall({"completeness": WIDE}, reading()).rating == pytest.approx(3)


def test_without_smoothing_the_weights_stay() -> None:
    said = [read_criterion(one, [reply], reading(smoothing="none")) for one, reply in [
        ("correctness", first("4", {"4": 0.5, "5": 0.5})), ("completeness", first("1", {"1": 0.5, "5": 0.5})),
    ]]  # fmt: skip
    found = read_overall(
        {str(verdict.criterion): verdict for verdict in said}, reading(smoothing="none", gamma=0.5)
    )
    assert found.rating == pytest.approx((16 * 4 + 1) / 17)  # the same 16/17 and 1/17, of 4 and 1


@pytest.mark.parametrize(
    "status", ["unparsed", "refused", "truncated", "filtered", "failed", "missing_image"]
)
def test_where_a_criterion_has_no_score_there_is_no_overall_one(status: Any) -> None:
    found = read_overall(
        {"correctness": NARROW, "completeness": Verdict(status, reason="why")}, reading()
    )
    assert (found.status, found.reason, found.score_0_1) == (
        status,
        "no score of completeness: why",
        None,
    )
    bare = read_overall({"correctness": NARROW, "completeness": Verdict(status)}, reading())
    assert bare.reason == f"no score of completeness: {status}"


@given(st.permutations(["correctness", "completeness", "fluency"]), st.floats(0, 1))
def test_the_order_of_the_criteria_does_not_matter(order: list[str], gamma: float) -> None:
    verdicts = {"correctness": NARROW, "completeness": WIDE, "fluency": CERTAIN}
    shuffled = {name: verdicts[name] for name in order}
    overall = read_overall(verdicts, reading(gamma=gamma)).rating
    assert read_overall(shuffled, reading(gamma=gamma)).rating == pytest.approx(overall)
