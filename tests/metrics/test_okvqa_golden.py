"""The published accuracies of three prediction files on OK-VQA, and what the official normaliser
makes of them.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from judgelake.tasks.metrics.pairs import Scores
from judgelake.tasks.metrics.vqa_accuracy import compute_vqa_accuracy, compute_vqa_accuracy_raw

DATA = (
    Path(
        os.environ.get("JUDGELAKE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
    )
    / "okvqa"
)

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not DATA.is_dir(),
        reason=f"{DATA} is absent; set JUDGELAKE_DATA to the folder of the real inputs",
    ),
]


@pytest.mark.parametrize(
    ("compute", "captions", "expected"),
    [
        (compute_vqa_accuracy_raw, "VinVL", 46.809354),
        (compute_vqa_accuracy_raw, "VinVLTag", 47.934998),
        (compute_vqa_accuracy_raw, "5GT", 53.246136),
        (compute_vqa_accuracy, "VinVL", 46.860880),
        (compute_vqa_accuracy, "VinVLTag", 48.030123),
        (compute_vqa_accuracy, "5GT", 53.297662),
    ],
)
def test_means_to_six_decimals(
    compute: Callable[[pa.Array, pa.ListArray], Scores], captions: str, expected: float
) -> None:
    scores = compute(*read_columns(captions))
    assert len(scores) == 5046
    assert round(100 * float(np.mean(scores)), 6) == expected


def read_columns(captions: str) -> tuple[pa.Array, pa.ListArray]:
    (path,) = DATA.glob(f"coco14_promptC_gpt3_{captions}_n16*.json")
    predicted = {row["question_id"]: row["answer"] for row in json.loads(path.read_text())}
    asked = json.loads((DATA / "okvqa_val_eval.json").read_text())
    return pa.array([predicted[row["question_id"]] for row in asked]), pa.array(
        [row["answer"] for row in asked]
    )
