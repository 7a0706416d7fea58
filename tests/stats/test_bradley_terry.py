"""Bradley-Terry: closed forms, choix, scikit-learn and statsmodels as oracles; what has no finite
maximum is penalised and says so.
"""

import math

import choix
import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from judgelake.tasks.stats.bradley_terry import (
    Anchor,
    RatingReason,
    fit_bradley_terry,
    maximise_likelihood,
)
from judgelake.tasks.stats.comparisons import (
    Comparisons,
    count_meetings,
    count_wins,
    find_groups,
    rank_models,
    select_comparisons,
)
from tests.stats.drawn_comparisons import draw_comparisons

MEAN = Anchor(None, 1000.0)
STRENGTHS = np.array([-0.9, -0.3, 0.0, 0.4, 0.8])
ELO_PER_LOGIT = 400 / math.log(10)


def compare(rows: list[tuple[int, int, float]], n_models: int) -> Comparisons:
    """Rows of (a, b, preference for b), each its own cluster."""
    a, b, preference = (np.array(column) for column in zip(*rows, strict=True))
    return select_comparisons(a, b, preference.astype(np.float64), np.arange(len(rows)), n_models)


def test_two_models_by_hand() -> None:
    # a wins 6 of 8: odds 3 to 1, so 400 log10 3 = 190.85 apart. Firth's penalty is half a win to
    # either side: p = 6.5 / 9. Each row is a cluster: scores (1 - p) six times, -p twice.
    # Information I = 8 p q, the penalty's 1 p q; what is left without a row is 9 p q - p q = 8 p q.
    found = fit_bradley_terry(compare([(0, 1, 0.0)] * 6 + [(0, 1, 1.0)] * 2, 2), MEAN)
    gap = 400 * math.log10(3)
    np.testing.assert_allclose(found.ratings, [1000 + gap / 2, 1000 - gap / 2])
    p = 6.5 / 9
    jackknife = 7 / 8 * (6 * (1 - p) ** 2 + 2 * p**2) / (8 * p * (1 - p)) ** 2
    # Both have 7 degrees of freedom: t = 2.364624.
    half = 2.364624 * math.sqrt(max(jackknife, 1 / (8 * p * (1 - p)))) / 2 * ELO_PER_LOGIT
    centre = 1000 + ELO_PER_LOGIT * math.log(p / (1 - p)) / 2
    assert (found.low[0], found.high[0]) == pytest.approx((centre - half, centre + half), abs=1e-4)
    np.testing.assert_allclose(found.low[1] + found.high[0], 2000)
    assert not found.is_above.any()


def test_a_tie_is_half_a_win() -> None:
    # Ties 2, a wins 1 and loses 1, all turned about: 2 of 4, equal ratings. With one more win: 3 of
    # 5, 400 log10 1.5.
    rows = [(0, 1, 0.5), (1, 0, 0.5), (0, 1, 0.0), (1, 0, 0.0)]
    np.testing.assert_allclose(fit_bradley_terry(compare(rows, 2), MEAN).ratings, [1000, 1000])
    found = fit_bradley_terry(compare([*rows, (1, 0, 1.0)], 2), MEAN)
    assert found.ratings[0] - found.ratings[1] == pytest.approx(400 * math.log10(1.5))


def test_ratings_are_choix_and_scikit_learns() -> None:
    drawn = draw_comparisons(STRENGTHS, 80, 5, np.random.default_rng(0), ties=0)
    a_wins = drawn.preference_b == 0
    winner, loser = (
        np.where(a_wins, drawn.model_a, drawn.model_b),
        np.where(a_wins, drawn.model_b, drawn.model_a),
    )
    found = fit_bradley_terry(drawn, MEAN)
    theirs = choix.opt_pairwise(
        5, list(zip(winner.tolist(), loser.tolist(), strict=True)), method="Newton-CG", tol=1e-12
    )
    np.testing.assert_allclose(
        found.ratings, 1000 + ELO_PER_LOGIT * (theirs - theirs.mean()), atol=1e-3
    )
    # The way of FastChat: logistic regression on +-log 10, the coefficients being ratings over 400.
    design = math.log(10) * (np.eye(5)[drawn.model_a] - np.eye(5)[drawn.model_b])
    model = LogisticRegression(fit_intercept=False, C=math.inf, tol=1e-10, max_iter=1000).fit(
        design, a_wins
    )
    ratings = 400 * model.coef_[0]
    np.testing.assert_allclose(found.ratings, 1000 + ratings - ratings.mean(), atol=1e-2)


def test_penalised_ratings_are_firths_by_the_iteration_that_heinze_and_schemper_state() -> None:
    # Logistic regression on rows with the last model as reference: repeat U* = X'(y - p + h (1/2 -
    # p)), b += I^-1 U*, h from the hat matrix (Heinze & Schemper 2002, Statistics in Medicine 21).
    drawn = draw_comparisons(np.array([4.0, 0.5, 0.0, -3.0]), 12, 2, np.random.default_rng(3))
    found = fit_bradley_terry(drawn, MEAN)
    assert RatingReason.PENALISED in found.reasons[0]
    design = (np.eye(4)[drawn.model_a] - np.eye(4)[drawn.model_b])[:, :3]
    beta = np.zeros(3)
    for _ in range(2_000):
        p = 1 / (1 + np.exp(-design @ beta))
        inverse = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))
        hat = p * (1 - p) * np.einsum("ij,jk,ik->i", design, inverse, design)
        beta += 0.3 * inverse @ (design.T @ (1 - drawn.preference_b - p + hat * (0.5 - p)))
    theirs = np.append(beta, 0.0)
    np.testing.assert_allclose(
        found.ratings, 1000 + ELO_PER_LOGIT * (theirs - theirs.mean()), atol=1e-5
    )


def test_intervals_of_many_clusters_are_those_of_statsmodels_cluster_covariance() -> None:
    # The last model is the anchor, so the others' coefficients are gaps to it; ties as shares of a
    # binomial. With 2,000 clusters neither the penalty nor leaving one out differs by 1 %.
    drawn = draw_comparisons(STRENGTHS, 2_000, 4, np.random.default_rng(1))
    found = fit_bradley_terry(drawn, Anchor((4,), 0.0))
    design = (np.eye(5)[drawn.model_a] - np.eye(5)[drawn.model_b])[:, :4]
    theirs = sm.GLM(1 - drawn.preference_b, design, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": drawn.clusters, "use_correction": False}
    )
    np.testing.assert_allclose(found.ratings[:4], ELO_PER_LOGIT * theirs.params, rtol=1e-7)
    half = (found.high - found.low)[:4] / 2
    np.testing.assert_allclose(half, 1.961 * ELO_PER_LOGIT * theirs.bse, rtol=0.01)
    assert (found.ratings[4], found.low[4], found.high[4]) == (0, 0, 0)


def test_large_clusters_are_left_out_one_by_one() -> None:
    # The jackknife by its words: five clusters of unlike sizes, each left out and the penalised
    # fit taken one step of Newton's further. One comparison is worth its leverage in the penalty.
    drawn = draw_comparisons(STRENGTHS[:3], 5, 30, np.random.default_rng(6))
    drawn = drawn._replace(clusters=np.repeat(np.arange(5), [80, 30, 20, 12, 8]))
    wins = count_wins(drawn)
    logits = maximise_likelihood(wins, penalised=True)
    chance = 1 / (1 + np.exp(logits - logits[:, None]))
    design = np.eye(3)[drawn.model_a] - np.eye(3)[drawn.model_b]
    p = chance[drawn.model_a, drawn.model_b]
    information = design.T @ (design * (p * (1 - p))[:, None]) + 1
    hat = p * (1 - p) * np.einsum("ij,jk,ik->i", design, np.linalg.inv(information), design)
    added = information + design.T @ (design * (hat * p * (1 - p))[:, None])
    shifts = []
    for cluster in range(5):
        own = drawn.clusters == cluster
        rows, weight = design[own], (p * (1 - p))[own]
        score = rows.T @ (1 - drawn.preference_b - p)[own]
        shifts.append(np.linalg.solve(added - rows.T @ (rows * weight[:, None]), score))
    centred = np.array(shifts) - np.mean(shifts, axis=1, keepdims=True)
    half = 2.776445 * ELO_PER_LOGIT * np.sqrt(4 / 5 * (centred**2).sum(axis=0))  # t, 4 degrees
    found = fit_bradley_terry(drawn, MEAN)
    np.testing.assert_allclose((found.high - found.low) / 2, half, rtol=1e-5)


def test_sums_over_clusters_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw_comparisons(STRENGTHS, 60, 4, np.random.default_rng(1))
    shuffled = np.random.default_rng(0).permutation(240)
    mixed = drawn._replace(
        **{
            name: getattr(drawn, name)[shuffled]
            for name in ("model_a", "model_b", "preference_b", "clusters")
        }
    )
    whole = fit_bradley_terry(drawn, MEAN)
    monkeypatch.setattr("judgelake.tasks.stats.bradley_terry._CHUNK_BYTES", 8 * 5 * 7)
    np.testing.assert_allclose(fit_bradley_terry(mixed, MEAN).low, whole.low, rtol=1e-9)


@given(st.integers(0, 2**32), st.integers(3, 7))
def test_scores_vanish_at_the_maximum_and_the_anchor_only_shifts(seed: int, n_models: int) -> None:
    # At the maximum each model's expected wins are its wins (Zermelo 1929; Ford 1957).
    rng = np.random.default_rng(seed)
    drawn = draw_comparisons(rng.normal(size=n_models), 40, 4, rng)
    found = fit_bradley_terry(drawn, MEAN)
    if not np.isfinite(found.ratings).all() or any(found.reasons):
        return  # models apart, or a penalised fit
    chance_a = 1 / (1 + 10 ** ((found.ratings[drawn.model_b] - found.ratings[drawn.model_a]) / 400))
    surplus = np.bincount(drawn.model_a, 1 - drawn.preference_b - chance_a, n_models)
    surplus -= np.bincount(drawn.model_b, 1 - drawn.preference_b - chance_a, n_models)
    np.testing.assert_allclose(surplus, 0, atol=1e-8)
    anchored = fit_bradley_terry(drawn, Anchor((1, 2), 1500.0)).ratings
    np.testing.assert_allclose(anchored - anchored[0], found.ratings - found.ratings[0], atol=1e-8)
    assert anchored[1:3].mean() == pytest.approx(1500)


def test_far_apart_models_still_have_a_maximum() -> None:
    # Nine models in a chain, each losing to the next 1 of 100,000 times: gaps of 400 log10 99,999 =
    # 2,000 each.
    drawn = compare([(i, i + 1, 1e-5) for i in range(8)], 9)
    gaps = -np.diff(fit_bradley_terry(drawn, MEAN).ratings)
    np.testing.assert_allclose(gaps, 400 * math.log10(99_999), rtol=1e-9)


def test_a_model_that_wins_everything_has_a_finite_rating_by_hand() -> None:
    # Firth's fit of n wins in n is that of n + 1/2 in n + 1: 400 log10 41 for 20 of 20.
    found = fit_bradley_terry(compare([(0, 1, 0.0)] * 20, 2), MEAN)
    assert found.ratings[0] - found.ratings[1] == pytest.approx(400 * math.log10(41))
    assert found.reasons == ((RatingReason.PENALISED,),) * 2
    assert found.low[0] < found.ratings[0] < found.high[0]
    assert found.is_above.tolist() == [[False, True], [False, False]]
    # Three wins of three prove nothing, and one more loss than 19 wins leaves room on both sides.
    assert not fit_bradley_terry(compare([(0, 1, 0.0)] * 3, 2), MEAN).is_above.any()
    nearly = fit_bradley_terry(compare([(0, 1, 0.0)] * 19 + [(0, 1, 1.0)], 2), MEAN)
    assert nearly.low[0] + 50 < nearly.ratings[0] < nearly.high[0] - 50


def test_a_transitive_set_ranks_its_models() -> None:
    rows = [(i, j, 0.0) for i in range(5) for j in range(i + 1, 5)] * 10
    found = fit_bradley_terry(compare(rows, 5), MEAN)
    assert np.isfinite([found.ratings, found.low, found.high]).all()
    ranking = rank_models(found.ratings, found.is_above)
    assert ranking.order.tolist() == [0, 1, 2, 3, 4]
    # Ten wins of ten against the next, and against all that it beats: surely above.
    assert found.is_above[0, 4]


def test_groups_that_no_comparison_links_are_told_apart() -> None:
    # 0 to 2 are linked, so are 3 and 4; 5 meets nobody.
    rows = [(0, 1, 0.0), (1, 2, 0.0), (0, 1, 1.0), (4, 3, 0.5)]
    drawn = compare(rows, 6)
    assert find_groups(count_meetings(drawn)).tolist() == [0, 0, 0, 1, 1, 2]
    found = fit_bradley_terry(drawn, MEAN)
    assert np.isfinite(found.ratings).tolist() == [True] * 3 + [False] * 3
    assert found.reasons[3:] == (
        (RatingReason.DISCONNECTED,),
        (RatingReason.DISCONNECTED,),
        (RatingReason.NO_COMPARISONS,),
    )
    assert found.n_clusters == 3  # the other comparison says nothing of the gap between 0 and 1
    other = fit_bradley_terry(drawn, Anchor((4,), 500.0))
    assert other.ratings[[3, 4]].tolist() == [500, 500]
    split = fit_bradley_terry(drawn, Anchor((0, 4), 500.0))
    assert split.reasons[:5] == ((RatingReason.ANCHOR_SPLIT,),) * 5
    assert np.isnan(split.ratings).all()


def test_a_model_of_few_clusters_has_no_interval() -> None:
    # Model 2 wins 40 of 40, all about two images: nothing shows how images differ for it.
    rows = [(0, 1, 0.0), (0, 1, 1.0)] * 20 + [(2, 0, 0.0)] * 40
    drawn = compare(rows, 3)
    drawn.clusters[40:] = np.arange(40) % 2
    found = fit_bradley_terry(drawn, MEAN)
    assert RatingReason.FEW_CLUSTERS in found.reasons[2]
    assert np.isnan([found.low[2], found.high[2]]).all()
    assert np.isfinite(found.low[:2]).all()
    assert not found.is_above.any()


def test_no_comparisons_at_all() -> None:
    codes = np.zeros(0, dtype=np.int64)
    found = fit_bradley_terry(select_comparisons(codes, codes, np.zeros(0), codes, 3), MEAN)
    assert found.reasons == ((RatingReason.NO_COMPARISONS,),) * 3
    assert np.isnan(found.ratings).all()


def test_one_cluster_has_no_interval() -> None:
    drawn = compare([(0, 1, 0.0), (0, 1, 1.0)], 2)._replace(clusters=np.zeros(2, dtype=np.int64))
    found = fit_bradley_terry(drawn, MEAN)
    assert np.isfinite(found.ratings).all()
    assert np.isnan(found.low).all()


def test_wrong_anchors_are_refused() -> None:
    for anchor in ((), (0, 7)):
        with pytest.raises(ValueError, match="expected model codes from 0 to 1"):
            fit_bradley_terry(compare([(0, 1, 0.5)], 2), Anchor(anchor, 1000.0))


@pytest.mark.parametrize(
    ("logits", "n_clusters", "rows"),
    [
        ((3.0, 0.5, 0.0, -0.5, -3.0), 5, 20),
        ((3.0, 0.5, 0.0, -0.5, -3.0), 40, 2),
        ((1.5, -1.5), 20, 1),
    ],
)
def test_intervals_of_strong_models_and_few_clusters_cover(
    logits: tuple[float, ...], n_clusters: int, rows: int
) -> None:
    # Of 250 samples 95 % have a standard deviation of 1.4 points; the table of more samples is
    # printed by `tests.bench.bench_rankings`.
    rng, strengths = np.random.default_rng(8), np.array(logits)
    planted = 1000 + ELO_PER_LOGIT * (strengths - strengths.mean())
    held = []
    for _ in range(250):
        found = fit_bradley_terry(draw_comparisons(strengths, n_clusters, rows, rng), MEAN)
        held.append((found.low <= planted) & (planted <= found.high))
    assert 0.92 <= np.mean(held) <= 0.98
    assert np.min(np.mean(held, axis=0)) >= 0.90
