"""Agreement of two raters: hand arithmetic, scikit-learn and statsmodels as oracles, CHIRP's chance
term.
"""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from judgelake.tasks.stats.agreement import Weighting, count_confusion, landis_koch
from tests.stats.plain_kappas import cohen_kappa, matchup_kappa, observed_agreement

NAN = math.nan
# 20 rows: both 1 on 8, both 0 on 5, a alone on 4, b alone on 3; two more lack a label.
A = np.array([1.0] * 8 + [0.0] * 5 + [1.0] * 4 + [0.0] * 3 + [NAN, 1.0])
B = np.array([1.0] * 8 + [0.0] * 5 + [0.0] * 4 + [1.0] * 3 + [1.0, NAN])

labels = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 5]), st.sampled_from([0, 1, 2, 5])), min_size=1, max_size=40
)


def test_confusion_by_hand() -> None:
    confusion = count_confusion(A, B)
    np.testing.assert_array_equal(confusion.levels, [0, 1])
    np.testing.assert_array_equal(confusion.counts, [[5, 3], [4, 8]])


def test_kappa_by_hand() -> None:
    # p_o = 13/20. a says 1 on 12 and b on 11: p_e = (12 * 11 + 8 * 9) / 400 = 0.51; kappa = (0.65 -
    # 0.51) / 0.49 = 2/7.
    assert observed_agreement(A, B) == 0.65
    assert cohen_kappa(A, B) == pytest.approx(2 / 7, abs=1e-15)


def test_weighted_kappa_by_hand() -> None:
    # Labels 1, 2, 4; rows (1,1), (1,2), (2,4), (4,4). Linear: D_o = 1 + 2 = 3.
    # a: 2, 1, 1; b: 1, 1, 2. D_e = [2(1*1 + 2*3) + 1(1*1 + 2*2) + 1(1*3 + 1*2)] / 4 = (14 + 5 + 5)
    # / 4 = 6; kappa = 1/2.
    # Quadratic: D_o = 1 + 4 = 5; D_e = [2(1 + 2*9) + (1 + 2*4) + (9 + 4)] / 4 = (38 + 9 + 13) / 4 =
    # 15; kappa = 2/3.
    a, b = np.array([1.0, 1, 2, 4]), np.array([1.0, 2, 4, 4])
    assert cohen_kappa(a, b, "linear") == pytest.approx(0.5)
    assert cohen_kappa(a, b, "quadratic") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("weighting", "theirs"), [("nominal", None), ("linear", "linear"), ("quadratic", "quadratic")]
)
def test_kappa_is_scikit_learns(weighting: Weighting, theirs: str | None) -> None:
    # scikit-learn measures distance in places on the list of labels, so the list is whole here.
    rng = np.random.default_rng(5)
    for _ in range(20):
        a = rng.integers(1, 6, 60).astype(np.float64)
        b = np.clip(a + rng.integers(-1, 3, 60), 1, 5)
        expected = cohen_kappa_score(a, b, weights=theirs, labels=[1, 2, 3, 4, 5])
        assert cohen_kappa(a, b, weighting) == pytest.approx(expected, abs=1e-12)


@given(labels)
def test_kappa_of_any_labels_is_statsmodels(rows: list[tuple[int, int]]) -> None:
    a, b = np.array(rows, dtype=np.float64).T
    confusion = count_confusion(a, b)
    gaps = np.abs(confusion.levels[:, None] - confusion.levels)
    for weighting, distance in (("nominal", None), ("linear", gaps), ("quadratic", gaps**2)):
        ours = cohen_kappa(a, b, weighting)  # type: ignore[arg-type]
        if confusion.levels.size == 1:
            assert math.isnan(ours)
            continue
        theirs = cohens_kappa(confusion.counts, weights=distance, return_results=False)
        assert ours == pytest.approx(float(theirs), abs=1e-9)


@given(labels)
def test_kappa_does_not_know_who_is_first(rows: list[tuple[int, int]]) -> None:
    a, b = np.array(rows, dtype=np.float64).T
    for weighting in ("nominal", "linear", "quadratic"):
        assert cohen_kappa(a, b, weighting) == pytest.approx(
            cohen_kappa(b, a, weighting), nan_ok=True
        )


def test_constant_raters() -> None:
    ones, zeros, mixed = np.ones(6), np.zeros(6), np.array([1.0, 0, 1, 1, 0, 1])
    for weighting in ("nominal", "linear", "quadratic"):
        assert math.isnan(cohen_kappa(ones, ones, weighting))
        assert math.isnan(cohen_kappa(ones * 0.1, ones * 0.1, weighting))
        assert cohen_kappa(ones, zeros, weighting) == 0
        assert cohen_kappa(ones, mixed, weighting) == pytest.approx(
            0
        )  # CHIRP, Table 1: LLaVA-34B, 50 % and 0.0


def test_nothing_in_common_is_undefined() -> None:
    a, b = np.array([1.0, NAN]), np.array([NAN, 0.0])
    for value in (
        observed_agreement(a, b),
        cohen_kappa(a, b),
        matchup_kappa(a, b, np.array([0, 1])),
    ):
        assert math.isnan(value)


def test_matchup_kappa_by_hand() -> None:
    # Matchup 0, 4 rows: a prefers the first on 3, b on 2, they agree on 3: p_e = 3/4 * 2/4 + 1/4 *
    # 2/4 = 1/2.
    # Matchup 1, 6 rows: a prefers it on 6, b on 3, they agree on 3: p_e = 1 * 1/2 + 0 * 1/2 = 1/2.
    # Matchup 7, 2 rows, both always prefer the first: p_e = 1.
    # p_o = 8/12; p_e = (4 * 1/2 + 6 * 1/2 + 2) / 12 = 7/12; kappa = (1/12) / (5/12) = 1/5.
    a = np.array([0.0, 0, 0, 1] + [0.0] * 6 + [0.0, 0, 1])
    b = np.array([0.0, 0, 1, 1] + [0.0] * 3 + [1.0] * 3 + [0.0, 0, NAN])
    matchups = np.array([0] * 4 + [1] * 6 + [7] * 3)
    assert matchup_kappa(a, b, matchups) == pytest.approx(1 / 5)
    # Pooled, chance is what one table of all rows gives: a 11 of 12, b 7 of 12.
    assert cohen_kappa(a, b) == pytest.approx(
        (8 / 12 - (11 * 7 + 1 * 5) / 144) / (1 - (11 * 7 + 1 * 5) / 144)
    )


def test_matchup_kappa_is_the_papers_formula() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, (2, 300)).astype(np.float64)
    matchups = rng.integers(0, 10, 300)
    p_e = 0.0
    for matchup in range(10):
        mine, theirs = a[matchups == matchup].mean(), b[matchups == matchup].mean()
        p_e += (matchups == matchup).mean() * (mine * theirs + (1 - mine) * (1 - theirs))
    assert matchup_kappa(a, b, matchups) == pytest.approx(
        ((a == b).mean() - p_e) / (1 - p_e), abs=1e-12
    )


def test_matchup_kappa_of_constant_raters() -> None:
    a = np.array([0.0, 0, 1, 1, 1])
    assert math.isnan(matchup_kappa(a, a, np.array([0, 0, 1, 1, 1])))
    assert matchup_kappa(a, a, np.array([0, 0, 0, 1, 1])) == 1


def test_words_of_landis_and_koch() -> None:
    words = {
        -0.1: "poor",
        0.0: "slight",
        0.114: "slight",
        0.2: "slight",
        0.204: "fair",
        0.216: "fair",
        0.41: "moderate",
    }
    words |= {
        0.6: "moderate",
        0.7: "substantial",
        0.81: "almost perfect",
        1.0: "almost perfect",
        NAN: "undefined",
    }
    assert {kappa: landis_koch(kappa) for kappa in words} == words


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="pair them"):
        observed_agreement(np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="infinite"):
        observed_agreement(np.ones(2), np.array([1.0, math.inf]))
    with pytest.raises(ValueError, match="1 matchups for 2 rows"):
        matchup_kappa(np.ones(2), np.ones(2), np.array([0]))


def test_oracle_warns_where_we_return_nan() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert math.isnan(cohen_kappa_score(np.ones(4), np.ones(4)))
