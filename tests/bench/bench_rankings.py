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

from judgelake.tasks.stats.bradley_terry import Anchor, RatingReason, fit_bradley_terry
from judgelake.tasks.stats.comparisons import Comparisons, select_comparisons
from judgelake.tasks.stats.contradictions import build_graphs, find_contradictions
from judgelake.tasks.stats.elo import EloScale, bootstrap_elo, permute_elo
from judgelake.tasks.stats.resampling import draw_cluster_weights
from tests.bench.bench_agreement import measure, report
from tests.stats.drawn_comparisons import draw_comparisons, draw_outcomes

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
    ours = measure(lambda: fit_bradley_terry(battles, MEAN), 10)
    report("Bradley-Terry fit with intervals, 100k", ours, peer, 1)
    # FastChat's intervals are those of 100 and more resamples, each fitted anew.
    report("intervals and places, 500 resamples", ours, peer, 500)


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


MILD, STRONG = (-0.9, -0.3, 0.0, 0.4, 0.8), (3.0, 0.5, 0.0, -0.5, -3.0)
HUB = (0.0, 2.5, -2.5, 0.5, -0.5)


def draw_hub(strengths: Floats, n_clusters: int, rng: np.random.Generator) -> Comparisons:
    """Model 0 meets each other model once a cluster."""
    cluster = np.repeat(np.arange(n_clusters), strengths.size - 1)
    others = np.tile(np.arange(1, strengths.size), n_clusters)
    return draw_outcomes(strengths, cluster, np.zeros_like(others), others, rng)


def draw_skewed(
    strengths: Floats, n_clusters: int, rows: int, rng: np.random.Generator
) -> Comparisons:
    """Cluster k holds a share of the rows that falls as 1 / k."""
    sizes = 1 / np.arange(1, n_clusters + 1)
    sizes = np.maximum(np.round(n_clusters * rows * sizes / sizes.sum()), 1).astype(np.int64)
    cluster = np.repeat(np.arange(n_clusters), sizes)
    a = rng.integers(0, strengths.size, cluster.size)
    b = (a + rng.integers(1, strengths.size, cluster.size)) % strengths.size
    return draw_outcomes(strengths, cluster, a, b, rng)


DESIGNS = {
    "mild, 5 clusters x 20": (MILD, partial(draw_comparisons, n_clusters=5, rows_a_cluster=20)),
    "mild, 15 x 20": (MILD, partial(draw_comparisons, n_clusters=15, rows_a_cluster=20)),
    "mild, 100 x 5": (MILD, partial(draw_comparisons, n_clusters=100, rows_a_cluster=5)),
    "mild, 12 x 10, 70 % ties": (
        MILD,
        partial(draw_comparisons, n_clusters=12, rows_a_cluster=10, ties=0.7),
    ),
    "mild, 6 skewed x 40": (MILD, partial(draw_skewed, n_clusters=6, rows=40)),
    "strong, 5 x 20": (STRONG, partial(draw_comparisons, n_clusters=5, rows_a_cluster=20)),
    "strong, 15 x 20": (STRONG, partial(draw_comparisons, n_clusters=15, rows_a_cluster=20)),
    "strong, 20 x 1": (STRONG, partial(draw_comparisons, n_clusters=20, rows_a_cluster=1)),
    "strong, 40 x 2": (STRONG, partial(draw_comparisons, n_clusters=40, rows_a_cluster=2)),
    "strong, 100 x 5": (STRONG, partial(draw_comparisons, n_clusters=100, rows_a_cluster=5)),
    "strong, 40 skewed x 5": (STRONG, partial(draw_skewed, n_clusters=40, rows=5)),
    "hub, 10 x 4": (HUB, partial(draw_hub, n_clusters=10)),
    "hub, 80 x 4": (HUB, partial(draw_hub, n_clusters=80)),
    "19 : 1, 20 x 1": ((1.5, -1.5), partial(draw_comparisons, n_clusters=20, rows_a_cluster=1)),
}


def print_coverage(rng: np.random.Generator, samples: int = 1_000) -> None:
    """How many 95 % intervals hold the planted ratings; several dependent rows a cluster. `wrongly
    above` is the share of samples in which some pair stands surely in the wrong order.
    """
    print(f"coverage in % of {samples} samples; by model from first to last; wrongly above in %")
    for name, (logits, draw) in DESIGNS.items():
        strengths = np.array(logits)
        planted = 1000 + 400 / math.log(10) * (strengths - strengths.mean())
        is_below = strengths[:, None] < strengths
        held, penalised, wrong = np.full((samples, strengths.size), np.nan), 0, 0
        for i in range(samples):
            fitted = fit_bradley_terry(draw(strengths, rng=rng), MEAN)
            has_ends = ~np.isnan(fitted.low)
            held[i, has_ends] = ((fitted.low <= planted) & (planted <= fitted.high))[has_ends]
            penalised += RatingReason.PENALISED in fitted.reasons[0]
            wrong += int((fitted.is_above & is_below).any())
        by_model = " ".join(f"{100 * share:4.0f}" for share in np.nanmean(held, axis=0))
        print(
            f"{name:26} {100 * np.nanmean(held):5.1f}  {by_model:26}"
            f"null {100 * np.isnan(held).mean():4.1f}  penalised {100 * penalised / samples:4.0f}"
            f"  wrongly above {100 * wrong / samples:4.1f}"
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
