"""Corpus scores: sums of statistics, and intervals that equal scoring every resample's rows
again.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.metrics.metric import ALL_TASKS, Metric, Scored
from judgelake.tasks.metrics.rows import ScoreRows
from judgelake.tasks.metrics.settings import name_metric
from judgelake.tasks.metrics.shard import run_metric_shard
from judgelake.tasks.planning.cases import register_judges
from judgelake.tasks.planning.scores import write_scores
from judgelake.tasks.reports.corpus import Floats, resample_sums, score_corpora, score_sums
from judgelake.tasks.stats.resampling import draw_cluster_weights
from judgelake.tasks.suite.suite import ReportSettings, Scope, Suite
from tests.intervals import Fit, plain_ends
from tests.lakes import Row, answer, ingest, item, make_lake, make_suite, query, warehouse

REPORT = ReportSettings(resamples=40, seed=0)
SUITE = make_suite(metrics=("sacrebleu", "exact_match"), report=REPORT)
WORDS = ("red", "cat", "on", "the", "mat")
MODELS = ("m1", "m2")


def plant(lake: Lake, suite: Suite = SUITE) -> list[Row]:
    """Twelve items on six images and one without references, answered by two models; all
    scored.
    """
    rng = np.random.default_rng(5)
    items = [
        item(
            f"i{k:02}",
            references=(" ".join(rng.permutation(WORDS)), "a red cat"),
            image=f"{k % 6}.png",
        )
        for k in range(12)
    ]
    answers = [
        answer(f"i{k:02}", " ".join(rng.permutation(WORDS)[: 3 + k % 3]), model)
        for k in range(12)
        for model in MODELS
    ]
    ingest(
        lake, [*items, item("zz", references=(), image="9.png")], [*answers, answer("zz", "cat")]
    )
    register_judges(lake, suite)
    for order in write_scores(lake, suite, Scope(), "run"):
        assert run_metric_shard(order).failures == ()
    return [
        {
            **row,
            "image": int(row["item_id"][1:]) % 6,
            "references": items[int(row["item_id"][1:])]["references"],
        }
        for row in answers
    ]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def rescore(rows: list[Row]) -> float:
    """sacrebleu of these rows, scored anew and taken for one corpus."""
    metric = name_metric("sacrebleu").resolve()
    frame = pl.DataFrame([{"answer": row["text"], "references": row["references"]} for row in rows])
    scored = metric.compute(
        ScoreRows(frame["answer"].to_arrow(), frame["references"].to_arrow()), None
    )
    assert metric.corpus is not None
    return float(metric.corpus(scored.statistics.sum(axis=0, keepdims=True))[0])


def test_a_corpus_score_and_its_interval_are_those_of_the_rows_scored_again(lake: Lake) -> None:
    rows = plant(lake)
    found = {
        (row["metric"], row["model"]): row
        for row in score_corpora(warehouse(lake), SUITE).to_dicts()
    }
    for model in ("*", *MODELS):
        own = [row for row in rows if model in ("*", row["model"])]
        others = [rescore([row for row in own if row["image"] != image]) for image in range(6)]
        value = rescore(own)
        variance = 5 / 6 * sum((other - value) ** 2 for other in others)
        low, high = plain_ends(Fit(value, variance, 5))
        bleu = found["sacrebleu", model]
        assert (bleu["value"], bleu["low"], bleu["high"]) == pytest.approx(
            (value, low, high), abs=1e-12
        )
        assert (bleu["n"], bleu["n_clusters"], bleu["n_undefined"]) == (len(own), 6, 0)
        # One item has no references, and m1 alone answered it.
        assert bleu["n_missing"] == (0 if model == "m2" else 1)


def test_a_metric_without_statistics_has_its_mean(lake: Lake) -> None:
    plant(lake)
    found = {
        row["model"]: row
        for row in score_corpora(warehouse(lake), SUITE).to_dicts()
        if row["metric"] == "exact_match"
    }
    means = query(
        lake,
        "select model, mean, n, n_missing from rpt_metrics where metric = 'exact_match' order "
        "by model",
    )
    assert [(row["model"], row["mean"], row["n"], row["n_missing"]) for row in means] == [
        (
            model,
            pytest.approx(found[model]["value"], abs=1e-12),
            found[model]["n"],
            found[model]["n_missing"],
        )
        for model in ("*", *MODELS)
    ]
    assert found["*"]["low"] <= found["*"]["value"] <= found["*"]["high"]


def test_the_report_view_has_what_was_written(lake: Lake) -> None:
    plant(lake)
    append_rows(lake, "corpus_scores", score_corpora(warehouse(lake), SUITE))
    rows = query(
        lake, "select benchmark, metric, model, n, resamples, seed, judge from rpt_corpus_scores"
    )
    assert [(row["benchmark"], row["metric"], row["model"]) for row in rows] == [
        ("b", metric, model) for metric in ("exact_match", "sacrebleu") for model in ("*", *MODELS)
    ]
    signature = name_metric("sacrebleu").resolve().signature
    assert {row["judge"] for row in rows if row["metric"] == "sacrebleu"} == {f"metric:{signature}"}
    assert {(row["n"], row["resamples"], row["seed"]) for row in rows if row["model"] == "m2"} == {
        (12, 40, 0)
    }


def test_nothing_scored_is_no_score(lake: Lake) -> None:
    ingest(lake, [item("i0")], [answer("i0", "cat")])
    suite = make_suite(metrics=("exact_match", "cider"), benchmarks=("b", "empty"), report=REPORT)
    rows = score_corpora(warehouse(lake), suite).to_dicts()
    assert {(row["metric"], row["model"]) for row in rows} == {
        (name, model) for name in ("exact_match", "cider") for model in ("*", "m1")
    }
    assert {
        (row["n"], row["n_missing"], row["value"], row["low"], row["n_undefined"]) for row in rows
    } == {(0, 1, None, None, 40)}


@given(
    st.integers(1, 5), st.integers(1, 6), st.integers(1, 3), st.integers(0, 200), st.integers(0, 9)
)
def test_all_arrays_share_the_draws_whatever_the_chunks(
    n_clusters: int, models: int, k: int, resamples: int, seed: int
) -> None:
    sums = [np.random.default_rng(number).random((models, n_clusters, k)) for number in range(2)]
    weights = draw_cluster_weights(n_clusters, resamples, np.random.default_rng(seed))
    drawn = resample_sums([*sums, sums[0]], weights)
    for part, out in zip([*sums, sums[0]], drawn, strict=True):
        np.testing.assert_allclose(
            out, np.einsum("rc,mck->rmk", weights.astype(float), part), rtol=1e-12
        )


def test_sums_without_a_scored_answer_are_undefined() -> None:
    def compute(_rows: ScoreRows, _counts: Path | None) -> Scored:
        raise NotImplementedError

    def ratio(sums: Floats) -> Floats:
        return sums[:, 0] / np.maximum(sums[:, 1], 1)

    metric = Metric("ratio", "ratio|version:1", ALL_TASKS, compute, ("hits", "tries"), ratio)
    found = score_sums(metric, np.array([[[3.0, 4.0, 2.0], [0.0, 0.0, 0.0]]]))
    assert found.tolist() == [[0.75, pytest.approx(np.nan, nan_ok=True)]]
