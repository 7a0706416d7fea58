"""Agreement on the released NQ301 labels: the figures that the data folder's README gives."""

import csv
from pathlib import Path

import numpy as np
import pytest

from judgelake.tasks.stats.agreement import agree_raters
from judgelake.tasks.stats.resampling import draw_cluster_weights

pytestmark = pytest.mark.data
LABELS = {"Yes": 1.0, "No": 0.0, "": np.nan}


def read_labels(file: Path, column: str) -> np.ndarray:
    with file.open(encoding="utf-8", newline="") as rows:
        return np.array(
            [LABELS[(row[column] or "").strip()] for row in csv.DictReader(rows, delimiter="\t")]
        )


def read_clusters(file: Path) -> np.ndarray:
    with file.open(encoding="utf-8", newline="") as rows:
        return np.unique(
            [row["id"] for row in csv.DictReader(rows, delimiter="\t")], return_inverse=True
        )[1]


def test_blank_labels_are_missing(data_folder: Path) -> None:
    file = data_folder / "nq301" / "NQ301_human.tsv"
    clusters = read_clusters(file)
    weights = draw_cluster_weights(int(clusters.max()) + 1, 500, np.random.default_rng(0))
    found = agree_raters(
        read_labels(file, "annotator1"), read_labels(file, "annotator2"), clusters, weights
    )["kappa_nominal"]
    assert found.n == 1483
    assert found.value == pytest.approx(0.7347, abs=5e-5)
    assert found.low < 0.7347 < found.high


@pytest.mark.parametrize(
    ("grader", "accuracy", "kappa"), [("gpt-4", 0.8470, 0.6934), ("BEM", 0.8060, 0.6157)]
)
def test_graders_against_people(
    data_folder: Path, grader: str, accuracy: float, kappa: float
) -> None:
    people = data_folder / "nq301" / "NQ301_human.tsv"
    clusters = read_clusters(people)
    weights = draw_cluster_weights(int(clusters.max()) + 1, 500, np.random.default_rng(0))
    human = read_labels(people, "Acceptable?")
    graded = read_labels(data_folder / "nq301" / f"NQ301_{grader}.tsv", "Acceptable?")
    # GPT-4 replied twice that it cannot decide: a verdict, neither yes nor no, where an annotator's
    # blank is none.
    undecided = np.where(np.isnan(graded), 0.5, graded)
    found = agree_raters(undecided, human, clusters, weights)
    assert found["agreement"].n == 1490
    assert found["agreement"].value == pytest.approx(accuracy, abs=5e-5)
    assert found["kappa_nominal"].value == pytest.approx(kappa, abs=5e-5)
    decided = agree_raters(graded, human, clusters, weights)["agreement"]
    assert decided.value >= found["agreement"].value
    assert decided.n == np.count_nonzero(~np.isnan(graded))
