"""Bradley-Terry: closed forms, choix, scikit-learn and statsmodels as oracles; what has no finite
maximum says so.
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
    ELO_PER_LOGIT,
    Anchor,
    RatingReason,
    bootstrap_bradley_terry,
    fit_bradley_terry,
)
from judgelake.tasks.stats.comparisons import (
    Comparisons,
    rank_models,
    select_comparisons,
    summarise_ratings,
)
from judgelake.tasks.stats.resampling import draw_cluster_weights
from tests.stats.drawn_comparisons import draw_comparisons

MEAN = Anchor(None, 1000.0)
STRENGTHS = np.array([-0.9, -0.3, 0.0, 0.4, 0.8])
INF = math.inf


def compare(rows: list[tuple[int, int, float]], n_models: int) -> Comparisons:
    """Rows of (a, b, preference for b), each its own cluster."""
    a, b, preference = (np.array(column) for column in zip(*rows, strict=True))
    return select_comparisons(a, b, preference.astype(np.float64), np.arange(len(rows)), n_models)


def repeat_rows(drawn: Comparisons, times: np.ndarray) -> Comparisons:
    rows = np.repeat(np.arange(drawn.clusters.size), times[drawn.clusters])
    return drawn._replace(
        model_a=drawn.model_a[rows],
        model_b=drawn.model_b[rows],
        preference_b=drawn.preference_b[rows],
        clusters=drawn.clusters[rows],
    )


def test_two_models_by_hand() -> None:
    # a wins 3 of 4: odds 3 to 1, so 400 log10 3 = 190.85 apart. Each row a cluster, score +-p:
    # residuals 1/4 three times, -3/4.
    # Information 4 * 3/16 = 3/4; meat 4/3 * (3/16 + 9/16) = 1; variance of the gap in logits 1 /
    # (3/4)^2 = 16/9, of each 1/4.
    found = fit_bradley_terry(compare([(0, 1, 0.0)] * 3 + [(0, 1, 1.0)], 2), MEAN)
    gap = 400 * math.log10(3)
    np.testing.assert_allclose(found.ratings, [1000 + gap / 2, 1000 - gap / 2])
    np.testing.assert_allclose(np.diag(found.covariance), [16 / 9 / 4 * ELO_PER_LOGIT**2] * 2)
    half = 3.182446305 * math.sqrt(4 / 9) * ELO_PER_LOGIT  # t of 3 degrees of freedom
    np.testing.assert_allclose(found.high - found.ratings, half)
    np.testing.assert_allclose(found.ratings - found.low, half)


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


def test_sandwich_is_statsmodels_cluster_covariance() -> None:
    # The last model is the anchor, so the others' coefficients are gaps to it; ties as shares of a
    # binomial.
    drawn = draw_comparisons(STRENGTHS, 60, 4, np.random.default_rng(1))
    found = fit_bradley_terry(drawn, Anchor((4,), 0.0))
    design = (np.eye(5)[drawn.model_a] - np.eye(5)[drawn.model_b])[:, :4]
    theirs = sm.GLM(1 - drawn.preference_b, design, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": drawn.clusters, "use_correction": False}
    )
    np.testing.assert_allclose(found.ratings[:4], ELO_PER_LOGIT * theirs.params, rtol=1e-7)
    expected = 60 / 59 * ELO_PER_LOGIT**2 * theirs.cov_params()
    np.testing.assert_allclose(found.covariance[:4, :4], expected, rtol=1e-6)
    assert (found.ratings[4], found.low[4], found.high[4]) == (0, 0, 0)


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
    np.testing.assert_allclose(
        fit_bradley_terry(mixed, MEAN).covariance, whole.covariance, rtol=1e-9
    )


@given(st.integers(0, 2**32), st.integers(3, 7))
def test_scores_vanish_at_the_maximum_and_the_anchor_only_shifts(seed: int, n_models: int) -> None:
    # At the maximum each model's expected wins are its wins (Zermelo 1929; Ford 1957).
    rng = np.random.default_rng(seed)
    drawn = draw_comparisons(rng.normal(size=n_models), 40, 4, rng)
    found = fit_bradley_terry(drawn, MEAN)
    if not np.isfinite(found.ratings).all():
        return
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


def test_winners_and_losers_of_everything_are_infinite_and_said_so() -> None:
    # 0 and 1 beat each other; 2 beats both always, 3 always loses, 4 meets nobody; 5 and 6 meet
    # each other only.
    rows = [
        (0, 1, 0.0),
        (0, 1, 1.0),
        (0, 1, 0.0),
        (2, 0, 0.0),
        (2, 1, 0.0),
        (3, 0, 1.0),
        (5, 6, 0.0),
    ]
    found = fit_bradley_terry(compare(rows, 7), MEAN)
    assert found.anchor.tolist() == [0, 1]
    np.testing.assert_allclose(
        found.ratings, [1060.206, 939.794, INF, -INF, math.nan, math.nan, math.nan], atol=1e-3
    )  # log10 2
    assert found.reasons == (
        RatingReason.FINITE,
        RatingReason.FINITE,
        RatingReason.ALWAYS_WINS,
        RatingReason.ALWAYS_LOSES,
        RatingReason.NO_COMPARISONS,
        RatingReason.DISCONNECTED,
        RatingReason.DISCONNECTED,
    )
    assert np.isnan(found.low[2:]).all()
    assert np.isfinite(found.low[:2]).all()
    assert found.n_clusters == 3  # the other comparisons say nothing of the gap between 0 and 1


def test_models_without_a_path_of_wins_to_the_anchor_are_not_compared() -> None:
    # 2 loses to 0 and 1, who beat each other, and beats 3; so does 4: nothing says how 4 stands to
    # 0.
    rows = [(0, 1, 0.5), (0, 2, 0.0), (2, 3, 0.0), (4, 3, 0.0)]
    found = fit_bradley_terry(compare(rows, 5), MEAN)
    assert found.reasons[2:] == (
        RatingReason.ALWAYS_LOSES,
        RatingReason.ALWAYS_LOSES,
        RatingReason.NOT_COMPARABLE,
    )
    np.testing.assert_array_equal(found.ratings[2:], [-INF, -INF, math.nan])
    from_above = fit_bradley_terry(compare(rows, 5), Anchor((4,), 500.0))
    assert from_above.ratings[[3, 4]].tolist() == [-INF, 500]
    split = fit_bradley_terry(compare(rows, 5), Anchor((0, 4), 500.0))
    assert split.reasons == (RatingReason.ANCHOR_SPLIT,) * 5
    assert np.isnan(split.ratings).all()


def test_no_comparisons_at_all() -> None:
    codes = np.zeros(0, dtype=np.int64)
    found = fit_bradley_terry(select_comparisons(codes, codes, np.zeros(0), codes, 3), MEAN)
    assert found.reasons == (RatingReason.NO_COMPARISONS,) * 3
    assert np.isnan(found.ratings).all()


def test_one_cluster_has_no_interval() -> None:
    drawn = compare([(0, 1, 0.0), (0, 1, 1.0)], 2)._replace(clusters=np.zeros(2, dtype=np.int64))
    found = fit_bradley_terry(drawn, MEAN)
    assert np.isfinite(found.ratings).all()
    assert np.isnan(found.low).all()


def test_each_resample_is_the_fit_of_its_rows() -> None:
    # 12 clusters of 3 rows: some resamples have models that win or lose all, or an anchor torn
    # apart.
    rng = np.random.default_rng(4)
    drawn = draw_comparisons(STRENGTHS, 12, 3, rng)
    for anchor in (MEAN, Anchor((2,), 0.0)):
        fitted = fit_bradley_terry(drawn, anchor)
        assert np.isfinite(fitted.ratings).all()
        weights = draw_cluster_weights(12, 60, rng)
        resampled = bootstrap_bradley_terry(drawn, fitted, weights)
        kinds = set()
        for one, ratings in zip(weights, resampled, strict=True):
            alone = fit_bradley_terry(
                repeat_rows(drawn, one), Anchor(tuple(fitted.anchor.tolist()), anchor.rating)
            )
            np.testing.assert_allclose(ratings, alone.ratings, atol=1e-6)
            kinds |= set(alone.reasons)
        assert len(kinds) > 1


def test_resampled_ratings_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw_comparisons(STRENGTHS, 40, 4, np.random.default_rng(1))
    fitted, weights = (
        fit_bradley_terry(drawn, MEAN),
        draw_cluster_weights(40, 50, np.random.default_rng(0)),
    )
    whole = bootstrap_bradley_terry(drawn, fitted, weights)
    monkeypatch.setattr("judgelake.tasks.stats.cluster_sums._CHUNK_BYTES", 10_000)
    np.testing.assert_allclose(bootstrap_bradley_terry(drawn, fitted, weights), whole, atol=1e-9)


def test_a_model_that_wins_everything_is_never_sure_to_be_above() -> None:
    # Three wins of three win every resample, and prove nothing.
    rows = [(0, 1, 0.0), (0, 1, 1.0)] * 20 + [(2, 0, 0.0), (2, 1, 0.0), (2, 0, 0.0)]
    drawn = compare(rows, 3)
    fitted = fit_bradley_terry(drawn, MEAN)
    resampled = bootstrap_bradley_terry(
        drawn, fitted, draw_cluster_weights(43, 100, np.random.default_rng(0))
    )
    assert summarise_ratings(resampled, 43).n_undefined.tolist() == [0, 0, 100]
    ranking = rank_models(fitted.ratings, resampled, 43)
    assert ranking.order[0] == 2
    assert (ranking.low[2], ranking.high[2]) == (1, 3)
    assert not ranking.is_above.any()


def test_wrong_anchors_are_refused() -> None:
    for anchor in ((), (0, 7)):
        with pytest.raises(ValueError, match="expected model codes from 0 to 1"):
            fit_bradley_terry(compare([(0, 1, 0.5)], 2), Anchor(anchor, 1000.0))


@pytest.mark.full
def test_intervals_cover_the_planted_ratings() -> None:
    # 100 and 200 clusters of five dependent rows: 93 to 97 % of the sandwich's and the bootstrap's
    # intervals hold the truth.
    planted = 1000 + ELO_PER_LOGIT * (STRENGTHS - STRENGTHS.mean())
    rng = np.random.default_rng(2)
    for n_clusters in (100, 200):
        held = np.zeros((2, 800, 5))
        for i in range(800):
            drawn = draw_comparisons(STRENGTHS, n_clusters, 5, rng)
            fitted = fit_bradley_terry(drawn, MEAN)
            held[0, i] = (fitted.low <= planted) & (planted <= fitted.high)
            resampled = bootstrap_bradley_terry(
                drawn, fitted, draw_cluster_weights(n_clusters, 500, rng)
            )
            band = summarise_ratings(resampled, n_clusters)
            held[1, i] = (band.low <= planted) & (planted <= band.high)
        coverage = held.mean(axis=(1, 2))
        assert (coverage >= 0.93).all()
        assert (coverage <= 0.97).all()
