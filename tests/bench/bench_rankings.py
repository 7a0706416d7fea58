"""`python -m tests.bench.bench_rankings`: Elo, Bradley-Terry and contradictions beside FastChat's,
scikit-learn's and networkx's ways.

The peers are written here from what those do: Elo as one Python loop and as one numpy step for all
resamples together; ratings as a logistic regression of +-log 10 on rows; a graph a question.
Results are asserted to agree, speed and coverage printed.
"""

import itertools
import math
import time
import tracemalloc
import warnings
from functools import partial

import networkx  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from judgelake.tasks.stats.bradley_terry import (
    ELO_PER_LOGIT,
    Anchor,
    bootstrap_bradley_terry,
    fit_bradley_terry,
)
from judgelake.tasks.stats.comparisons import Comparisons, select_comparisons, summarise_ratings
from judgelake.tasks.stats.contradictions import build_graphs, find_contradictions
from judgelake.tasks.stats.elo import EloScale, bootstrap_elo, permute_elo
from judgelake.tasks.stats.resampling import draw_cluster_weights
from tests.bench.bench_agreement import measure, report
from tests.stats.drawn_comparisons import draw_comparisons

MODELS, ROWS_A_QUESTION = 30, 20
SCALE = EloScale(1000, 4, 400)
MEAN = Anchor(None, 1000.0)
Floats = NDArray[np.float64]


def draw_battles(n: int, rng: np.random.Generator) -> Comparisons:
    strength = rng.normal(0, 0.7, MODELS)
    a = rng.integers(0, MODELS, n)
    b = (a + rng.integers(1, MODELS, n)) % MODELS
    wins_b = rng.random(n) < 1 / (1 + np.exp(strength[a] - strength[b]))
    preference_b = np.where(rng.random(n) < 0.1, 0.5, wins_b)
    return select_comparisons(a, b, preference_b, np.arange(n) // ROWS_A_QUESTION, MODELS)


def loop_elo(battles: Comparisons, order: NDArray[np.int64]) -> list[float]:
    """One update after the other."""
    ratings = [SCALE.initial] * battles.n_models
    columns = (battles.model_a[order], battles.model_b[order], 1 - battles.preference_b[order])
    for a, b, share in zip(*(column.tolist() for column in columns), strict=True):
        moved = SCALE.k * (share - 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / SCALE.scale)))
        ratings[a] += moved
        ratings[b] -= moved
    return ratings


def step_elo(battles: Comparisons, rows: NDArray[np.int64]) -> Floats:
    """Row i of every resample at once: (rows, resamples) -> (resamples, models)."""
    pairs = np.stack([battles.model_a, battles.model_b], axis=1)
    shares, slope = 0.5 - battles.preference_b, math.log(10) / SCALE.scale / 2
    ratings = np.zeros(rows.shape[1] * battles.n_models)
    base = np.arange(rows.shape[1])[:, None] * battles.n_models
    for at in rows:
        places = pairs[at] + base
        met = ratings[places]
        moved = SCALE.k * (shares[at] - 0.5 * np.tanh(slope * (met[:, 0] - met[:, 1])))
        ratings[places[:, 0]] += moved
        ratings[places[:, 1]] -= moved
    rated: Floats = SCALE.initial + ratings.reshape(-1, battles.n_models)
    return rated


def compare_elo(rng: np.random.Generator) -> None:
    battles, resamples, some = draw_battles(100_000, rng), 500, 5_000
    n = battles.preference_b.size

    def ours() -> Floats:
        weights = draw_cluster_weights(n // ROWS_A_QUESTION, resamples, np.random.default_rng(1))
        return bootstrap_elo(battles, SCALE, weights, np.random.default_rng(2)).ratings

    def peer() -> Floats:
        return step_elo(battles, np.random.default_rng(1).integers(0, n, (some, resamples)))

    np.testing.assert_allclose(
        step_elo(battles, np.arange(300)[:, None])[0], loop_elo(battles, np.arange(300)), atol=1e-9
    )
    gap = bootstrap_elo(battles, SCALE, draw_cluster_weights(5_000, 200, rng), rng).ratings.mean(
        axis=0
    )
    gap -= np.mean([loop_elo(battles, rng.integers(0, n, n)) for _ in range(40)], axis=0)
    print(
        f"{'mean ratings less those of the Python loop':44} at most {np.abs(gap).max():.1f} points"
    )
    mine = measure(ours, 3)
    report("Elo, 100k x 500, numpy steps", mine, measure(peer, 3), n / some)
    report(
        "Elo, 100k x 500, Python loop",
        mine,
        measure(lambda: loop_elo(battles, np.arange(n)), 2),
        resamples,
    )
    permuted = measure(lambda: permute_elo(battles, SCALE, resamples, np.random.default_rng(2)), 3)
    report("Elo, 500 orders of 100k, numpy steps", permuted, measure(peer, 2), n / some)


def weigh_large_elo(rng: np.random.Generator) -> None:
    """1M x 500 with the memory that numpy hands out meanwhile; the compiled loops allocate nothing
    of size.
    """
    battles = draw_battles(1_000_000, rng)
    tracemalloc.start()
    start, processor = time.perf_counter(), time.process_time()
    weights = draw_cluster_weights(1_000_000 // ROWS_A_QUESTION, 500, rng)
    bootstrap_elo(battles, SCALE, weights, rng)
    took, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    processors = time.process_time() - processor
    print(
        f"{'Elo, 1M x 500':44} {took:7.3f} s ({processors:.3f} of processors), limit 10 s; "
        f"{peak / 1e6:.0f} MB, limit 200 MB"
    )


def fit_logistic(battles: Comparisons, rows: NDArray[np.int64]) -> Floats:
    """Ratings as a logistic regression: a column a model, +-log 10; each row once as won and once
    as lost, weighted.
    """
    a, b, share = battles.model_a[rows], battles.model_b[rows], 1 - battles.preference_b[rows]
    design = np.zeros((rows.size, battles.n_models))
    design[np.arange(rows.size), a] = math.log(10)
    design[np.arange(rows.size), b] = -math.log(10)
    won = np.repeat([1, 0], rows.size)
    model = LogisticRegression(fit_intercept=False, C=math.inf, tol=1e-6)
    model.fit(
        np.concatenate([design, design]), won, sample_weight=np.concatenate([share, 1 - share])
    )
    ratings: Floats = SCALE.scale * model.coef_[0]
    centred: Floats = ratings + (SCALE.initial - ratings.mean())
    return centred


def compare_bradley_terry(rng: np.random.Generator) -> None:
    battles = draw_battles(100_000, rng)
    every = np.arange(battles.preference_b.size)
    fitted = fit_bradley_terry(battles, MEAN)
    np.testing.assert_allclose(fitted.ratings, fit_logistic(battles, every), atol=0.05)
    peer = measure(lambda: fit_logistic(battles, every), 3)
    report(
        "Bradley-Terry fit with sandwich, 100k",
        measure(lambda: fit_bradley_terry(battles, MEAN), 10),
        peer,
        1,
    )
    weights = draw_cluster_weights(every.size // ROWS_A_QUESTION, 500, rng)
    resampled = bootstrap_bradley_terry(battles, fitted, weights[:1])[0]
    np.testing.assert_allclose(
        resampled, fit_logistic(battles, np.repeat(every, weights[0][battles.clusters])), atol=0.05
    )
    report(
        "Bradley-Terry bootstrap x 500",
        measure(lambda: bootstrap_bradley_terry(battles, fitted, weights), 3),
        peer,
        500,
    )


def compare_contradictions(rng: np.random.Generator) -> None:
    pairs = np.array(list(itertools.combinations(range(10), 2)))
    question = np.repeat(np.arange(5_000), len(pairs))
    a, b = np.tile(pairs, (5_000, 1)).T
    decided = (rng.random(question.size) < 1 / (1 + np.exp(a - b))).astype(np.float64)
    for name, preference in (
        ("complete", decided),
        ("a third ties", np.where(rng.random(decided.size) < 1 / 3, 0.5, decided)),
    ):
        found = find_contradictions(build_graphs(question, a, b, preference)).has_cycle

        def peer(preference: Floats = preference, found: NDArray[np.bool_] = found) -> None:
            for each in range(500):
                rows = slice(each * len(pairs), (each + 1) * len(pairs))
                votes = zip(
                    a[rows].tolist(), b[rows].tolist(), preference[rows].tolist(), strict=True
                )
                graph = networkx.DiGraph(
                    [(y, x) if vote else (x, y) for x, y, vote in votes if vote != 0.5]
                )
                if networkx.is_directed_acyclic_graph(graph) == found[each]:
                    raise AssertionError(f"question {each}: networkx says otherwise")

        ours = measure(
            partial(
                lambda preference: find_contradictions(build_graphs(question, a, b, preference)),
                preference,
            ),
            3,
        )
        report(f"contradictions, 5,000 x 10 models, {name}", ours, measure(peer, 1), 10)


def print_coverage(rng: np.random.Generator) -> None:
    """How many 95 % intervals hold the planted ratings; several dependent rows a cluster."""
    strengths = np.array([-0.9, -0.3, 0.0, 0.4, 0.8])
    planted = 1000 + ELO_PER_LOGIT * (strengths - strengths.mean())
    for n_clusters, rows in ((15, 20), (45, 7), (100, 5), (300, 5)):
        held = np.full((2, 500, strengths.size), np.nan)
        for i in range(500):
            battles = draw_comparisons(strengths, n_clusters, rows, rng)
            fitted = fit_bradley_terry(battles, MEAN)
            if np.isfinite(fitted.ratings).all():
                held[0, i] = (fitted.low <= planted) & (planted <= fitted.high)
                weights = draw_cluster_weights(n_clusters, 400, rng)
                band = summarise_ratings(
                    bootstrap_bradley_terry(battles, fitted, weights), n_clusters
                )
                held[1, i] = (band.low <= planted) & (planted <= band.high)
        sandwich, bootstrap = np.nanmean(held, axis=(1, 2))
        without = np.isnan(held[0, :, 0]).sum()
        print(
            f"coverage at {n_clusters:3} clusters x {rows:2} rows: sandwich {sandwich:.3f}, "
            f"bootstrap {bootstrap:.3f} "
            f"({without} of 500 without a finite maximum)"
        )


def main() -> None:
    warnings.simplefilter("error")
    rng = np.random.default_rng(0)
    compare_elo(rng)
    weigh_large_elo(rng)
    compare_bradley_terry(rng)
    compare_contradictions(rng)
    print_coverage(rng)


if __name__ == "__main__":
    main()
