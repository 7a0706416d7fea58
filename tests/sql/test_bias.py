"""Bias by length, position and family, leniency, calibration, use of the scale, refusals: given and expected
rows with the arithmetic beside them; core_scale_use is counted behind rpt_scale_use.
"""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm

from judgelake.tasks.lake.lake import Lake
from tests.intervals import fit_mean, fit_share, fit_slope, odds_ends, plain_ends, signed_ends
from tests.lakes import (
    Row,
    answer,
    case_row,
    duel_row,
    item,
    judge_row,
    make_lake,
    metric_row,
    preference,
    query,
    rating,
    score_row,
    verdict_row,
)
from tests.sql.benches import Bench, rate

J, K, L, M = "a" * 16, "b" * 16, "d" * 16, "c" * 16
VIEWS = (
    "leniency",
    "calibration",
    "bias_length",
    "bias_longer",
    "bias_position",
    "bias_family",
    "bias_family_scores",
    "scale_use",
    "refusals",
)


def recorded(
    item_id: str, found: float | None, judge: str = "gpt-4", answer_id: str = "m1", **more: object
) -> Row:
    row: Row = {
        "item_id": item_id,
        "answer_id": answer_id,
        "judge": judge,
        "criterion": "correctness",
        "sample": 0,
    }
    row |= {
        "status": "unparsed" if found is None else "ok",
        "rating": found,
        "scale_low": 0.0,
        "scale_high": 1.0,
    }
    return {**row, "text": None, "reason": None, **more}


def duel(item_id: str, first: str, second: str, winner: str | None, judge: str = "gpt-4") -> Row:
    """A recorded duel; `first` is shown first, the winner is an answer, 'tie', or None."""
    choice = {first: "a", second: "b"}.get(winner or "", winner)
    row: Row = {
        "item_id": item_id,
        "answer_a": first,
        "answer_b": second,
        "criterion": "overall",
        "shown_first": "a",
        "choice": choice,
    }
    row |= {
        "judge": judge,
        "sample": 0,
        "status": "ok" if choice else "refused",
        "preference_b": None,
        "score_a": None,
    }
    return {**row, "score_b": None, "text": None, "top_logprobs": [], "reason": None}


def put_duel(
    bench: Bench,
    item_id: str,
    first: str,
    second: str,
    winner: str | None,
    digests: Mapping[tuple[str, str], str],
) -> None:
    """A duel of our own judge, with answers by model; a is the lesser digest, as planning has
    it.
    """
    a, b = sorted((first, second), key=lambda model: digests[item_id, model])
    choice, shown = {a: "a", b: "b"}.get(winner or "", winner), "a" if first == a else "b"
    key = {"other_digest": digests[item_id, b], "shown_first": shown, "criterion": "overall"}
    bench.put("cases", case_row(J, item_id, digests[item_id, a], **key))
    row = duel_row(
        J, item_id, digests[item_id, a], digests[item_id, b], shown, choice, criterion="overall"
    )
    bench.put("duels", row)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """One row in every table that is read, so that one warehouse serves all tests."""
    first = Bench(make_lake(tmp_path_factory.mktemp("bias")), "first")
    model: Row = {
        "model": "m1",
        "family": None,
        "llm_parameters_b": None,
        "vision_encoder_parameters_b": None,
        "training_loss": None,
    }
    digests = first.answer_items(
        ["a.1"], ["x", "yy"], ratings=[rating("a.1", 1.0)], human_preferences=[preference("a.1", "m1", "m2", "a")],
        recorded_duels=[duel("a.1", "m1", "m2", "m1")], recorded_verdicts=[recorded("a.1", 1.0)], models=[model],
    )  # fmt: skip
    first.register(judge_row("chirp", J), metric_row("acc", M))
    put_duel(first, "a.1", "m1", "m2", "m1", digests)
    first.put("verdicts", verdict_row(J, "a.1", digests["a.1", "m1"], 3))
    first.put("metric_scores", score_row(M, "a.1", digests["a.1", "m1"], 1.0))
    return first.lake


@pytest.fixture
def bench(lake: Lake, tmp_path: Path) -> Bench:
    return Bench.beside(lake, tmp_path)


def test_an_empty_lake_has_no_bias(tmp_path: Path) -> None:
    empty = make_lake(tmp_path)
    assert [query(empty, f"select * from rpt_{view}") for view in VIEWS] == [[]] * len(VIEWS)


# ---- rpt_leniency, core_rated_scores


def test_leniency_is_the_mean_difference_on_the_answers_both_scored(bench: Bench) -> None:
    ratings = [
        *rate("A.1", 1, 0),
        *rate("A.2", 0),
        *rate("B.1", 0),
        *rate("C.1", 1),
        *rate("B.1", 1, model="m2"),
        *rate("E.1", 1, 0),
    ]
    found = {"A.1": 1.0, "A.2": 1.0, "B.1": 0.0, "C.1": None, "D.1": 1.0, "E.1": 0.75}
    verdicts = [recorded(name, score) for name, score in found.items()] + [
        recorded("B.1", 1.0, answer_id="m2")
    ]
    bench.answer_items([*found], ["x", "y"], ratings=ratings, recorded_verdicts=verdicts)
    rows = {
        row[0]: row[1:]
        for row in bench.rows(
            "model, n, judge_mean, human_mean, difference, low, high, reason", "rpt_leniency"
        )
    }
    # m1: A.1 1 - 0.5, A.2 1 - 0, B.1 0 - 0, E.1 0.75 - 0.5; nobody rated D.1, C.1 has no score
    ends = signed_ends([0.5, 1, 0, 0.25], "AABE")
    assert rows["m1"] == (
        4,
        2.75 / 4,
        0.25,
        0.4375,
        *map(pytest.approx, ends),
        None,
    )
    assert rows["m2"] == (1, 1.0, 1.0, 0.0, None, None, "fewer than 3 clusters")
    assert (rows["*"][0], rows["*"][3]) == (5, pytest.approx(0.35))


@pytest.mark.parametrize("unit", [1.0, 0.25])
def test_a_metric_on_another_scale_than_people_has_no_difference_and_no_tenths(
    bench: Bench, unit: float
) -> None:
    """Of CIDEr that is known, even where all its scores happen to be below 1."""
    ratings = [one for name in ("A.1", "B.1", "C.1") for one in rate(name, 1)]
    scores: list[Row] = [
        {"item_id": name, "answer_id": "m1", "metric": "cider", "score": unit * score}
        for name, score in {"A.1": 0.5, "B.1": 1.5, "C.1": 2.5}.items()
    ]
    bench.answer_items(["A.1", "B.1", "C.1"], ["x"], ratings=ratings, recorded_scores=scores)
    columns = "judge_mean, human_mean, difference, low, high, reason"
    assert bench.rows(f"distinct {columns}", "rpt_leniency") == [
        (1.5 * unit, 1, None, None, None, "its scale is not 0 to 1, as people's is")
    ]
    assert bench.rows("*", "rpt_calibration") == []


# ---- rpt_calibration


def test_calibration_sets_people_s_mean_beside_each_tenth_of_the_scores(bench: Bench) -> None:
    """0.3 and 1 belong to the tenths from 0.3 and from 0.9; a score that is none is left out."""
    found = {"A.1": 0.3, "B.1": 0.35, "C.1": 0.95, "D.1": 1.0, "E.1": 0.0, "F.1": None}
    ratings = [
        *rate("A.1", 0, 1),
        *rate("B.1", 0),
        *rate("C.1", 1),
        *rate("D.1", 1, 0),
        *rate("E.1", 0),
        *rate("F.1", 1),
    ]
    verdicts = [recorded(name, score) for name, score in found.items()]
    bench.answer_items([*found], ["x"], ratings=ratings, recorded_verdicts=verdicts)
    columns = (
        "score_from, score_to, n, judge_mean, human_mean, difference, low, high, reason, "
        "calibration_error, answer_form"
    )
    near = pytest.approx
    error = (0.0 + 2 * (0.325 - 0.25) + 2 * (0.975 - 0.75)) / 5
    few = "fewer than 3 clusters"
    assert bench.rows(columns, "rpt_calibration") == [
        (0.0, near(0.1), 1, 0.0, 0.0, 0.0, None, None, few, near(error), None),
        (0.3, near(0.4), 2, near(0.325), 0.25, near(0.075), None, None, few, near(error), None),
        (0.9, near(1.0), 2, near(0.975), 0.75, near(0.225), None, None, few, near(error), None),
    ]


def test_calibration_has_an_interval_and_the_form_of_the_answers(bench: Bench) -> None:
    people = {"A.1": 0.0, "B.1": 1.0, "C.1": 1.0, "D.1": 0.0}
    ratings = [one for name, value in people.items() for one in rate(name, value)]
    digests = bench.answer_items([*people], ["x"], ratings=ratings)
    forms = {K: "protocol:lave|answer_form:forced|shots:8", L: "protocol:lave|shots:8"}
    bench.register(*(judge_row(f"lave-{one[0]}", one, call_signature=forms[one]) for one in forms))
    for (name, _), digest in digests.items():
        bench.put("cases", case_row(K, name, digest), case_row(L, name, digest))
        bench.put("verdicts", verdict_row(K, name, digest, 3), verdict_row(L, name, digest, 2))
    rows = bench.rows(
        "judge, answer_form, n, difference, low, high, calibration_error", "rpt_calibration"
    )
    assert [row[1:4] for row in rows] == [("forced", 4, 0.5), ("free", 4, 0.0)]
    ends = signed_ends([1, 0, 0, 1], "ABCD")
    assert rows[0][4:] == (*map(pytest.approx, ends), 0.5)


def test_a_judge_that_equals_people_on_all_answers_may_differ_on_others(bench: Bench) -> None:
    # 20 answers alike: as many may still hide a share of 1 - .025^(1/20) = .168 either way
    names = [f"{letter}.1" for letter in "ABCDEFGHIJKLMNOPQRST"]
    ratings = [one for name in names for one in rate(name, 1.0)]
    verdicts = [recorded(name, 1.0) for name in names]
    bench.answer_items(names, ["x"], ratings=ratings, recorded_verdicts=verdicts)
    hidden = pytest.approx(1 - 0.025 ** (1 / 20))
    for view in ("rpt_leniency", "rpt_calibration"):
        for row in bench.rows("difference, -low, high, reason", view):
            assert row == (0, hidden, hidden, None)
    assert bench.rows("slope, low, high, reason", "rpt_bias_length") == [
        (None, None, None, "no two answers of one tenth differ in length")
    ]


def test_a_slope_of_scores_that_do_not_differ_has_no_interval(bench: Bench) -> None:
    put_lengths(bench, [(f"{letter}.1", 2**n, 0.5, 0.5) for n, letter in enumerate("ABCDEFGH")])
    assert bench.rows("slope, low, high, reason", "rpt_bias_length") == [
        (0, None, None, "no two answers of one tenth differ in score")
    ]


def test_a_criterion_is_compared_with_its_namesake_or_with_each_where_there_is_none(
    bench: Bench,
) -> None:
    ratings = [rating("A.1", 1.0), rating("A.1", 0.0, criterion="fluency")]
    verdicts = [
        recorded("A.1", 1.0),
        recorded("A.1", 1.0, criterion="fluency"),
        recorded("A.1", 1.0, criterion="overall"),
    ]
    bench.answer_items(["A.1"], ratings=ratings, recorded_verdicts=verdicts)
    found = bench.rows("model, judge_criterion, human_criterion, difference", "rpt_leniency")
    assert [row[1:] for row in found if row[0] == "*"] == [
        ("correctness", "correctness", 0.0), ("fluency", "fluency", 1.0), ("overall", "correctness", 0.0), ("overall", "fluency", 1.0),
    ]  # fmt: skip


# ---- rpt_bias_length


def put_lengths(bench: Bench, rows: list[tuple[str, int, float, float]]) -> None:
    """Rows: (item, length in characters, judge's score, human score)."""
    items = [item(name, f"Q {name}", cluster=name.partition(".")[0]) for name, *_ in rows]
    answers = [answer(name, "x" * length) for name, length, *_ in rows]
    ratings = [row for name, _, _, human in rows for row in rate(name, human)]
    bench.ingest(
        items,
        answers,
        ratings,
        recorded_verdicts=[recorded(name, score) for name, _, score, _ in rows],
    )


def test_the_slope_is_per_doubling_among_answers_that_people_scored_alike(bench: Bench) -> None:
    # People's 0: lengths 1, 2, 4 (log2 0, 1, 2), scores 0, 0, 0.5; people's 1: lengths 8, 16 (3,
    # 4), scores 0.5, 1.
    put_lengths(
        bench,
        [
            ("A.1", 1, 0, 0),
            ("A.2", 2, 0, 0),
            ("B.1", 4, 0.5, 0),
            ("B.2", 8, 0.5, 1),
            ("C.1", 16, 1, 1),
        ],
    )
    (found,) = bench.rows("n, slope, low, high, pearson", "rpt_bias_length")
    # Centred: x -1, 0, 1 | -1/2, 1/2; y -1/6, -1/6, 1/3 | -1/4, 1/4. Sxx 2.5, Sxy 1/6 + 1/3 + 1/8 +
    # 1/8 = 0.75: slope 0.3.
    # Syy = 2/36 + 1/9 + 2/16 = 7/24. Five rows less two means of tenths: variance times 5/3.
    fit = fit_slope([-1 / 6, -1 / 6, 1 / 3, -1 / 4, 1 / 4], [-1, 0, 1, -1 / 2, 1 / 2], "AABBC")
    ends = plain_ends(fit._replace(variance=fit.variance * 5 / 3))
    expected = (0.3, *ends, 0.75 / math.sqrt(2.5 * 7 / 24))
    assert found == (5, *map(pytest.approx, expected))


def test_where_lengths_do_not_differ_there_is_no_slope(bench: Bench) -> None:
    put_lengths(bench, [("A.1", 3, 0, 0), ("B.1", 3, 1, 0), ("C.1", 5, 1, 1), ("D.1", 0, 1, 0)])
    assert bench.rows("n, slope, low, pearson", "rpt_bias_length") == [
        (3, None, None, None)
    ]  # an empty answer has no length


def test_a_planted_slope_is_recovered_whatever_people_think_of_length(bench: Bench) -> None:
    rows = [
        (f"{n}.1", 2 ** (n % 5), (n % 5) * 0.1 + 0.5 * (n % 5 > 2), float(n % 5 > 2))
        for n in range(20)
    ]
    put_lengths(bench, rows)
    (found,) = bench.rows("slope, pearson", "rpt_bias_length")
    assert found == (pytest.approx(0.1), pytest.approx(1.0))


def test_the_slope_and_its_interval_are_those_of_least_squares_with_a_dummy_a_tenth(
    bench: Bench,
) -> None:
    rng = np.random.default_rng(4)
    tenths, lengths, scores = rng.integers(0, 3, 60) / 2, rng.integers(1, 90, 60), rng.random(60)
    clusters = rng.integers(0, 12, 60)
    put_lengths(
        bench,
        [
            (f"{clusters[n]}.{n}", int(lengths[n]), float(scores[n]), float(tenths[n]))
            for n in range(60)
        ],
    )
    dummies = np.column_stack([tenths == level for level in (0, 0.5, 1)]).astype(float)
    fitted = sm.OLS(scores, np.column_stack([np.log2(lengths), dummies])).fit()
    # what the tenths' means leave of both (Frisch & Waugh 1933)
    y, x = (sm.OLS(side, dummies).fit().resid for side in (scores, np.log2(lengths)))
    fit = fit_slope(y, x, clusters)
    ends = plain_ends(fit._replace(variance=fit.variance * 60 / 57))
    (found,) = bench.rows("slope, low, high", "rpt_bias_length")
    assert found == tuple(map(pytest.approx, (fitted.params[0], *ends)))


# ---- rpt_bias_longer


def test_the_longer_answer_s_share_of_wins(bench: Bench) -> None:
    names = ["A.1", "A.2", "B.1", "C.1"]
    items = [item(name, f"Q {name}", cluster=name.partition(".")[0]) for name in names]
    texts = {"m1": "short", "m2": "a longer one", "m3": "short"}
    answers = [answer(name, text, model) for name in names for model, text in texts.items()]
    duels = [
        duel("A.1", "m1", "m2", "m2"),
        duel("A.2", "m2", "m1", "m2"),
        duel("B.1", "m1", "m2", "tie"),
        duel("C.1", "m1", "m2", "m1"),
    ]
    duels += [
        duel("A.1", "m1", "m3", "m1"),
        duel("A.2", "m1", "m3", None),
    ]  # of equal length; refused
    bench.ingest(
        items, answers, recorded_duels=duels, human_preferences=[preference("A.1", "m1", "m2", "a")]
    )
    found = {
        row[0]: row[1:]
        for row in bench.rows("judge, n, share_longer, low, high", "rpt_bias_longer")
    }
    # 1, 1 | 0.5 | 0: share 0.625
    ends = odds_ends(fit_share([1, 1, 0.5, 0], "AABC"))
    assert found["gpt-4"] == (4, 0.625, *map(pytest.approx, ends))
    assert found["human:p1"] == (1, 0.0, None, None)


# ---- rpt_bias_position

POSITION = (
    "judge, n, first_wins, ties, second_wins, share_first, balance, n_both_orders, "
    "n_inconsistent, n_always_first, n_always_second"
)


def test_a_judge_that_sees_both_orders(bench: Bench) -> None:
    digests = bench.answer_items(["A.1", "B.1", "C.1", "D.1"], ["x", "yy"])
    bench.register(judge_row("chirp", J))
    given = {
        "A.1": ("m1", "m1"),
        "B.1": ("m1", "m2"),
        "C.1": ("m2", "m1"),
        "D.1": ("tie", "m2"),
    }  # winners with m1, then m2 first
    for name, winners in given.items():
        put_duel(bench, name, "m1", "m2", winners[0], digests)
        put_duel(bench, name, "m2", "m1", winners[1], digests)
    (found,) = bench.rows(f"{POSITION}, share_inconsistent", "rpt_bias_position")
    # first wins: A once, B twice, C never, D once of its one choice; seven choices
    assert found == ("chirp", 8, 4, 1, 3, pytest.approx(4 / 7), 1.0, 4, 3, 1, 1, 0.75)
    (interval,) = bench.rows("low, high", "rpt_bias_position")
    ends = odds_ends(fit_share([1, 0, 1, 1, 0, 0, 1], "AABBCCD"))
    assert interval == tuple(map(pytest.approx, ends))


def test_recorded_orders_and_their_balance(bench: Bench) -> None:
    # m1 is shown first three times of four, which balances 2 of 4; m2 against m3 always in one
    # order
    duels = [
        duel("A.1", "m1", "m2", "m1"),
        duel("A.2", "m1", "m2", "m1"),
        duel("B.1", "m1", "m2", "m2"),
        duel("C.1", "m2", "m1", "m1"),
    ]
    fixed = [duel(name, "m2", "m3", "m3", "fixed") for name in ("A.1", "B.1")]
    bench.answer_items(
        ["A.1", "A.2", "B.1", "C.1"], ["x", "y", "z"], recorded_duels=[*duels, *fixed, duel("B.1", "m1", "m3", None)],
        human_preferences=[preference("A.1", "m1", "m2", "b", shown_first="b"), preference("B.1", "m1", "m2", "b")],
    )  # fmt: skip
    assert bench.rows(POSITION, "rpt_bias_position") == [
        ("fixed", 2, 0, 0, 2, 0.0, 0.0, 0, 0, 0, 0),
        ("gpt-4", 4, 2, 0, 2, 0.5, 0.5, 0, 0, 0, 0),
        ("human:p1", 1, 1, 0, 0, 1.0, 0.0, 0, 0, 0, 0),
    ]
    assert [
        row[:2] for row in bench.rows("low, high, judge", "rpt_bias_position") if row[2] == "fixed"
    ] == [(None, None)]


def test_ties_alone_have_no_share_of_the_first(bench: Bench) -> None:
    names = [f"{letter}.1" for letter in "ABCDEF"]
    ties = [duel(name, *shown, "tie") for name in names for shown in (("m1", "m2"), ("m2", "m1"))]
    bench.answer_items(names, ["x", "yy"], recorded_duels=ties)
    assert bench.rows("n, ties, share_first, low, high, reason", "rpt_bias_position") == [
        (12, 12, None, None, None, "only ties")
    ]


def test_recorded_pairs_in_both_orders_are_compared(bench: Bench) -> None:
    duels = [
        duel("A.1", "m1", "m2", "m1"),
        duel("A.1", "m2", "m1", "m2"),
        duel("B.1", "m1", "m2", "m2"),
        duel("B.1", "m2", "m1", "m2"),
    ]
    bench.answer_items(["A.1", "B.1"], ["x", "y"], recorded_duels=duels)
    assert bench.rows(POSITION, "rpt_bias_position") == [
        ("gpt-4", 4, 3, 0, 1, 0.75, 1.0, 2, 1, 1, 0)
    ]


# ---- core_families, rpt_bias_family, rpt_bias_family_scores


def model_row(model: str, family: str) -> Row:
    row: Row = {
        "model": model,
        "family": family,
        "llm_parameters_b": None,
        "vision_encoder_parameters_b": None,
    }
    return {**row, "training_loss": None}


@pytest.mark.parametrize(
    ("judge", "family", "own"),
    [
        ("gpt-4", "gpt", {"gpt-4-0613": True, "openai/gpt-3.5-turbo:20230327": False}),
        ("gpt4", "gpt", {"gpt-4-0613": False, "openai/gpt-3.5-turbo:20230327": False}),
        ("claude", "anthropic", {"opus": False}),  # the table `models` says so
        ("bard", "bard", {"bard": True}),
        ("alpaca_eval_gpt4", None, {}),  # a name of its own, not a model's
        ("weighted gpt", None, {}),
    ],
)
def test_families_of_recorded_judges_and_of_models(
    bench: Bench, judge: str, family: str | None, own: dict[str, bool]
) -> None:
    models = ("gpt-4-0613", "openai/gpt-3.5-turbo:20230327", "opus", "bard", "alpaca-7b", None)
    answers = [answer("A.1", f"answer {number}", model) for number, model in enumerate(models)]
    known = [model_row("claude", "Anthropic"), model_row("opus", "anthropic")]
    bench.ingest(
        [item("A.1")],
        answers,
        models=known,
        recorded_verdicts=[recorded("A.1", 1.0, judge, "bard")],
    )
    found = bench.rows("judge_family, model, is_self, is_family", "core_families")
    assert {row[0] for row in found} == ({family} if family else set())
    assert {row[1]: row[2] for row in found if row[3]} == own


def test_the_family_of_a_judge_of_our_own_is_its_model_s(bench: Bench) -> None:
    signature = "protocol:lave|version:1|model:openai/gpt-4o-mini-2024-07-18|shots:8"
    models = ("gpt-4o-mini", "gpt-4o", "llava-7b")
    bench.ingest([item("A.1")], [answer("A.1", f"by {model}", model) for model in models])
    bench.register(judge_row("mini", K, call_signature=signature))
    found = {
        row[0]: row[1:]
        for row in bench.rows("model, judge_family, is_self, is_family", "core_families")
    }
    assert found == {
        "gpt-4o-mini": ("gpt", True, True),
        "gpt-4o": ("gpt", False, True),
        "llava-7b": ("gpt", False, False),
    }


def test_wins_of_a_judge_s_own_family_beside_people_s(bench: Bench) -> None:
    models = ("gpt-4", "gpt-3.5", "llava")
    names = ["A.1", "A.2", "B.1", "C.1"]
    items = [item(name, f"Q {name}", cluster=name.partition(".")[0]) for name in names]
    answers = [answer(name, f"by {model}", model) for name in names for model in models]
    duels = [duel("A.1", "gpt-4", "llava", "gpt-4"), duel("A.2", "llava", "gpt-4", "tie"), duel("B.1", "gpt-4", "gpt-3.5", "gpt-4"),
             duel("C.1", "gpt-3.5", "llava", "llava")]  # fmt: skip
    people = [
        preference("A.1", "gpt-4", "llava", "b"),
        preference("A.1", "llava", "gpt-4", "b", "p2"),
        preference("C.1", "gpt-3.5", "gpt-4", "a"),
    ]
    bench.ingest(items, answers, recorded_duels=duels, human_preferences=people)
    columns = "relation, judge_family, n, share, n_people, people_share, share_beside_people"
    found = {row[0]: row[1:] for row in bench.rows(columns, "rpt_bias_family")}
    # self: A.1 1, A.2 0.5, B.1 1; of A.1 p1 gives gpt-4 nothing, p2 all of it.
    # family: A.1 1, A.2 0.5, C.1 0; the pair of B.1 is within the family
    assert found == {
        "self": ("gpt", 3, pytest.approx(2.5 / 3), 1, 0.5, 1.0),
        "family": ("gpt", 3, 0.5, 1, 0.5, 1.0),
    }
    assert (
        bench.rows("low, high, reason", "rpt_bias_family")
        == [(None, None, "fewer than 3 clusters")] * 2
    )


def test_the_interval_of_a_family_s_wins_is_over_clusters(bench: Bench) -> None:
    models = ("gpt-4", "llava")
    names = ["A.1", "A.2", "B.1", "C.1"]
    items = [item(name, f"Q {name}", cluster=name.partition(".")[0]) for name in names]
    answers = [answer(name, f"by {model}", model) for name in names for model in models]
    won = ("gpt-4", "tie", "llava", "gpt-4")
    duels = [duel(name, *models, winner) for name, winner in zip(names, won, strict=True)]
    bench.ingest(items, answers, recorded_duels=duels)
    found = bench.rows("relation, low, high", "rpt_bias_family")
    ends = odds_ends(fit_share([1, 0.5, 0, 1], "AABC"))
    assert found == [(name, *map(pytest.approx, ends)) for name in ("family", "self")]


def test_scores_of_a_judge_s_own_family_beside_people_s(bench: Bench) -> None:
    # item: (judge, people) of gpt-4's answer and of llava's
    given = {
        "A.1": ((1.0, 0.0), (0.0, 0.0)),
        "B.1": ((1.0, 1.0), (0.0, 1.0)),
        "C.1": ((0.5, 0.0), (1.0, 1.0)),
    }
    items = [item(name, f"Q {name}", cluster=name.partition(".")[0]) for name in given]
    answers = [answer(name, f"by {model}", model) for name in given for model in ("gpt-4", "llava")]
    scored = [
        (name, model, *pair)
        for name, pairs in given.items()
        for model, pair in zip(("gpt-4", "llava"), pairs, strict=True)
    ]
    ratings = [rating(name, human, answer_id=model) for name, model, _, human in scored]
    verdicts = [recorded(name, score, answer_id=model) for name, model, score, _ in scored]
    bench.ingest(items, answers, ratings, recorded_verdicts=verdicts)
    columns = (
        "relation, n_own, n_other, own_mean, other_mean, people_own_mean, "
        "people_other_mean, excess, low, high"
    )
    own, other = bench.rows(columns, "rpt_bias_family_scores")
    # gaps own 1, 0, 0.5 (mean 0.5), others' 0, -1, 0 (mean -1/3): excess 5/6.
    # One answer each in every cluster: the mean of the differences of the gaps 1, 1, 0.5.
    ends = plain_ends(fit_mean([1, 1, 0.5], "ABC"))
    numbers = (2.5 / 3, 1 / 3, 1 / 3, 2 / 3, 5 / 6, *ends)
    assert own == ("family", 3, 3, *map(pytest.approx, numbers))
    assert other[0] == "self"
    assert other[1:] == own[1:]


def test_where_a_family_is_scored_as_people_do_there_is_no_interval(bench: Bench) -> None:
    letters = "ABCDEFGH"
    items = [item(f"{letter}.1") for letter in letters]
    scored = [(f"{letter}.1", model) for letter in letters for model in ("gpt-3", "llava")]
    answers = [answer(name, "x", model) for name, model in scored]
    ratings = [rating(name, 1.0, answer_id=model) for name, model in scored]
    verdicts = [recorded(name, 1.0, answer_id=model) for name, model in scored]
    bench.ingest(items, answers, ratings, recorded_verdicts=verdicts)
    rows = bench.rows("excess, low, high, reason", "rpt_bias_family_scores")
    assert rows == [(0, None, None, "fewer than 5 clusters differ from 0")]


def test_without_others_answers_there_is_no_preference(bench: Bench) -> None:
    bench.ingest([item("A.1")], [answer("A.1", "x", "gpt-3")], [rating("A.1", 1.0, answer_id="gpt-3")],
                 recorded_verdicts=[recorded("A.1", 1.0, answer_id="gpt-3")])  # fmt: skip
    assert bench.rows("*", "rpt_bias_family_scores") == []


# ---- rpt_scale_use


def test_use_of_the_scale_and_lengths_by_score(bench: Bench) -> None:
    found = {"A.1": 0.0, "B.1": 1.0, "C.1": 1.0, "D.1": 1.0, "E.1": None}
    lengths = dict(zip(found, (1, 2, 4, 8, 16), strict=True))
    bench.ingest(
        [item(name) for name in found], [answer(name, "x" * lengths[name]) for name in found],
        [*rate("A.1", 1, 0)], recorded_verdicts=[recorded(name, score) for name, score in found.items()],
    )  # fmt: skip
    columns = (
        "judge, level, level_to, n, share, length_low_quarter, length_median, "
        "length_high_quarter, length_mean"
    )
    assert bench.rows(columns, "rpt_scale_use") == [
        ("gpt-4", 0.0, None, 1, 0.25, 1.0, 1.0, 1.0, 1.0),
        ("gpt-4", 1.0, None, 3, 0.75, 3.0, 4.0, 6.0, pytest.approx(14 / 3)),
        ("human", 0.0, None, 1, 0.5, 1.0, 1.0, 1.0, 1.0),
        ("human", 1.0, None, 1, 0.5, 1.0, 1.0, 1.0, 1.0),
    ]


def test_use_of_the_scale_by_model_is_in_the_levels_of_all(bench: Bench) -> None:
    """A judge of more than 21 ratings is fine on each model, also where it gave that one few."""
    coarse: dict[tuple[str, str], float] = {}
    fine: dict[tuple[str, str], float] = {}
    for number in range(30):
        model = f"m{1 + number % 3 // 2}"
        coarse[f"i{number}", model] = float(number % 2)
        fine[f"i{number}", model] = number / 30
    texts = {key: "x" * (1 + 7 * number % 11) for number, key in enumerate(coarse)}
    bench.ingest(
        [item(name) for name, _ in coarse],
        [answer(name, texts[name, model], model) for name, model in coarse],
        [rating(name, score, answer_id=model) for (name, model), score in coarse.items()],
        recorded_verdicts=[
            recorded(name, score, judge, model)
            for judge, given in (("coarse", coarse), ("fine", fine))
            for (name, model), score in given.items()
        ],
    )
    expected = {}
    for judge, given in (("coarse", coarse), ("fine", fine), ("human", coarse)):
        for of in ("*", "m1", "m2"):
            levels: dict[float, list[int]] = {}
            for key, score in given.items():
                level = math.floor(10 * score + 1e-9) / 10 if judge == "fine" else score
                if of in ("*", key[1]):
                    levels.setdefault(level, []).append(len(texts[key]))
            n = sum(map(len, levels.values()))
            for level, lengths in levels.items():
                quarters = [*np.quantile(lengths, (0.25, 0.5, 0.75)), np.mean(lengths)]
                shares = [len(lengths) / n, *map(float, quarters)]
                expected[of, judge, level] = (len(lengths), *map(pytest.approx, shares))
    columns = (
        "model, judge, level, n, share, length_low_quarter, length_median, length_high_quarter, "
        "length_mean"
    )
    assert {row[:3]: row[3:] for row in bench.rows(columns, "rpt_scale_use")} == expected


def test_fine_scores_are_shown_in_tenths(bench: Bench) -> None:
    scores = {f"i{number}": number / 30 for number in range(31)}
    bench.ingest([item(name) for name in scores], [answer(name, "x") for name in scores],
                 recorded_verdicts=[recorded(name, score) for name, score in scores.items()])  # fmt: skip
    found = bench.rows("level, level_to, n", "rpt_scale_use")
    # 0, 1/30, 2/30 | 3/30 (0.1) ... ; the last tenth takes 27/30 to 1
    assert found == [
        (pytest.approx(k / 10), pytest.approx(k / 10 + 0.1), 4 if k == 9 else 3) for k in range(10)
    ]


def test_metrics_have_no_scale(bench: Bench) -> None:
    digests = bench.answer_items(["A.1"])
    bench.register(metric_row("acc", M))
    bench.put("metric_scores", score_row(M, "A.1", digests["A.1", "m1"], 0.3))
    assert bench.rows("*", "rpt_scale_use") == []


# ---- rpt_refusals


def test_refusals_and_failures_by_judge_and_model(bench: Bench) -> None:
    digests = bench.answer_items(
        ["A.1", "B.1"],
        ["x", "y"],
        recorded_duels=[duel("A.1", "m1", "m2", None), duel("B.1", "m1", "m2", "m1")],
    )
    bench.register(judge_row("lave", L), metric_row("acc", M))
    statuses = {("A.1", "m1"): "refused", ("B.1", "m1"): "truncated", ("A.1", "m2"): "ok"}
    bench.put("cases", *(case_row(L, key[0], digests[key]) for key in digests))
    verdicts = [
        verdict_row(L, key[0], digests[key], 3 if status == "ok" else None, status=status)
        for key, status in statuses.items()
    ]
    bench.put("verdicts", *verdicts)
    columns = (
        "judge, model, n_cases, n_ok, n_refused, n_truncated, n_unparsed, n_not_asked, "
        "share_without"
    )
    assert bench.rows(columns, "rpt_refusals") == [
        ("gpt-4", "*", 2, 1, 1, 0, 0, 0, 0.5), ("gpt-4", "m1", 2, 1, 1, 0, 0, 0, 0.5), ("gpt-4", "m2", 2, 1, 1, 0, 0, 0, 0.5),
        ("lave", "*", 4, 1, 1, 1, 0, 1, 0.75), ("lave", "m1", 2, 0, 1, 1, 0, 0, 1.0), ("lave", "m2", 2, 1, 0, 0, 0, 1, 0.5),
    ]  # fmt: skip


def test_a_pair_is_a_case_of_each_of_its_models(bench: Bench) -> None:
    digests = bench.answer_items(["A.1"], ["x", "y"])
    bench.register(judge_row("chirp", J))
    put_duel(bench, "A.1", "m1", "m2", None, digests)
    put_duel(bench, "A.1", "m2", "m1", "m1", digests)
    found = bench.rows("model, n_cases, n_ok, n_unparsed", "rpt_refusals")
    assert found == [("*", 2, 1, 1), ("m1", 2, 1, 1), ("m2", 2, 1, 1)]
