"""What few rows are computed by, numpy, gives the very numbers of compiled loops; when which is
used; and a whole report of few rows loads no compiled loop.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.stats import kernel_choice
from judgelake.tasks.stats.bootstrap import sum_resamples
from judgelake.tasks.stats.cluster_sums import Floats, Indices, count_cells, sum_columns
from judgelake.tasks.stats.comparisons import select_comparisons
from judgelake.tasks.stats.elo import EloScale, bootstrap_elo, permute_elo
from judgelake.tasks.stats.ordered_rows import order_rows
from judgelake.tasks.stats.resampling import (
    draw_cluster_weights,
    draw_keyed_weights,
    key_clusters,
)
from tests.lakes import query

Numbers = NDArray[np.float64] | NDArray[np.uint16]
RESAMPLES = 150


def draw_keyed(clusters: Indices) -> NDArray[np.uint16]:
    return draw_keyed_weights(
        key_clusters(f"b/{c}" for c in range(clusters.max() + 1)), RESAMPLES, 7
    )


def sum_correlation(x: Indices, y: Indices, clusters: Indices) -> Floats:
    sums = sum_resamples(order_rows(x / 7, y / 3, clusters), draw_keyed(clusters))
    return np.vstack([*sums[:-1], *sums.moments])


def rate(x: Indices, y: Indices, clusters: Indices, k: float) -> Floats:
    shares = y % 3 / 2
    comparisons = select_comparisons(x % 4, (x + 1 + y % 3) % 4, shares, clusters, 4)
    scale, rng = EloScale(1000, k, 400), np.random.default_rng(0)
    orders = permute_elo(comparisons, scale, 40, rng).ratings
    return np.vstack([orders, bootstrap_elo(comparisons, scale, draw_keyed(clusters), rng).ratings])


def sum_table(x: Indices, y: Indices, clusters: Indices) -> Floats:
    table = csr_array((x / 7, (y, clusters)), shape=(y.max() + 1, clusters.max() + 1))
    return sum_columns(table, draw_keyed(clusters))


def draw_freely(clusters: Indices) -> NDArray[np.uint16]:
    rng = np.random.default_rng(1)
    return draw_cluster_weights(int(clusters.max()) + 1, RESAMPLES, rng)


SUMS: dict[str, Callable[[Indices, Indices, Indices], Numbers]] = {
    "correlation": sum_correlation,
    "cells": lambda _, y, clusters: count_cells(y, y.max() + 1, clusters, draw_keyed(clusters)),
    "columns": sum_table,
    "elo": lambda x, y, clusters: rate(x, y, clusters, 4),
    "elo of large steps": lambda x, y, clusters: rate(x, y, clusters, 4e5),
    "keyed draws": lambda *rows: draw_keyed(rows[2]),
    "draws": lambda *rows: draw_freely(rows[2]),
}


@pytest.mark.parametrize("what", SUMS)
@pytest.mark.parametrize(
    ("n_rows", "n_x", "n_y", "n_clusters"),
    [(1, 1, 1, 1), (6, 6, 2, 6), (18, 5, 4, 6), (40, 40, 40, 9), (300, 3, 90, 250)],
)
def test_numpy_gives_the_very_numbers_of_compiled_loops(
    what: str, n_rows: int, n_x: int, n_y: int, n_clusters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(n_rows)
    given = [rng.integers(n, size=n_rows) for n in (n_x, n_y, n_clusters)]
    compiled = SUMS[what](*given)
    monkeypatch.setattr(kernel_choice, "MOST_NS", sys.maxsize)
    plain = SUMS[what](*given)
    np.testing.assert_array_equal(plain, compiled, strict=True)


def test_compiled_loops_are_used_from_a_large_sum_or_many_small_ones_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_choice, "MOST_NS", 100)
    monkeypatch.setattr(kernel_choice, "_needed_ns", [0])
    assert [kernel_choice.use_kernels(ns) for ns in (60, 40, 1, 1)] == [False, False, True, True]
    monkeypatch.setattr(kernel_choice, "_needed_ns", [0])
    assert [kernel_choice.use_kernels(ns) for ns in (101, 1)] == [True, True]


SUITE = """
name: small
benchmarks:
  photos:
    source: table
    parts:
      - file: answers.jsonl
        columns: {item_id: id, prompt: id, answer: text, answer_id: model, references: reference, model: model, category: category}
        human_ratings: {annotators: [ann, bob], scale: [1, 5]}
        judge_verdicts:
          - {judge: first, rating: first, scale: [1, 5]}
          - {judge: second, rating: second, scale: [1, 5]}
      - file: pairs.jsonl
        columns: {item_id: id}
        preferences: {choice: people, answer_a: a, answer_b: b, annotator: {constant: cy}}
        judge_duels:
          - {judge: third, answer_a: a, answer_b: b, choice: shown, shown_first: {constant: a}}
          - {judge: third, answer_a: a, answer_b: b, choice: swapped, shown_first: {constant: b}}
metrics: [exact_match, vqa_accuracy]
"""
RUN = """
import os, sys
from judgelake.flows import cli
os._exit = sys.exit
try:
    cli.main(["run", "suite.yaml", "--lake", "lake"])
except SystemExit as end:
    print("exit", end, "numba" in sys.modules)
"""


def write_inputs(folder: Path) -> None:
    """Six questions with the answers of three models, rated by two people and two judges, and
    compared by a person and, in both orders, a third judge.
    """
    rng = np.random.default_rng(4)
    raters, models = ("ann", "bob", "first", "second"), ("m1", "m2", "m3")
    answers = [
        {"id": f"i{n}", "text": f"cat {n} {model}", "model": model, "category": "ab"[n % 2]}
        | {"reference": "a cat"}
        | dict(zip(raters, rng.integers(1, 6, 4).tolist(), strict=True))
        for n in range(6)
        for model in models
    ]
    pairs = [
        {"id": f"i{n}", "a": a, "b": b}
        | {who: "ab"[rng.integers(2)] for who in ("people", "shown", "swapped")}
        for n in range(6)
        for a, b in (("m1", "m2"), ("m1", "m3"), ("m2", "m3"))
    ]
    for name, rows in (("answers", answers), ("pairs", pairs)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(SUITE)


def test_a_whole_report_of_few_rows_loads_no_compiled_loop(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout.endswith("exit 0 False\n"), ended.stdout + ended.stderr
    lake = open_lake(tmp_path / "lake")
    for view, column in (
        ("rpt_correlation", "low"),
        ("rpt_kappas", "kappa_low"),
        ("rpt_reliability", "low"),
        ("rpt_rankings", "rating"),
        ("rpt_judge_comparison", "difference_low"),
    ):
        assert query(lake, f"from {view} where {column} is not null"), view
