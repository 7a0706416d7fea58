"""Which reference metrics there are, what each is called, and for which tasks it makes sense.

How a metric is computed lives in its own module; a model's packages are imported only when it is computed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

import pyarrow as pa

from tasks.errors import MetricError
from tasks.metrics import exact_match, sbert_score, soft_vqa_accuracy, vqa_accuracy
from tasks.metrics.pairs import Scores

ALL_TASKS = ("vqa", "caption", "document", "referring", "instruction")
SHORT_ANSWER_TASKS = ("vqa", "document")


@dataclass(frozen=True)
class Metric:
    """A reference metric under everything that can change its number.

    `compute` takes n answers and n lists of references and gives n scores: NaN where a row has no reference or no answer.
    """

    name: str
    signature: str
    tasks: tuple[str, ...]
    compute: Callable[[pa.Array, pa.ListArray], Scores]


def resolve_metric(name: str) -> Metric:
    """Find a metric by its name; a MetricError names the nearest valid name."""
    if name not in METRICS:
        near = get_close_matches(name, METRICS, n=1, cutoff=0.0)[0]
        raise MetricError(f"metrics: {name!r} is no metric; expected one of {', '.join(METRICS)}; did you mean {near!r}?")
    return METRICS[name]()


def _build_vqa_accuracy() -> Metric:
    return Metric("vqa_accuracy", vqa_accuracy.SIGNATURE, SHORT_ANSWER_TASKS, vqa_accuracy.compute_vqa_accuracy)


def _build_vqa_accuracy_raw() -> Metric:
    return Metric("vqa_accuracy_raw", vqa_accuracy.RAW_SIGNATURE, SHORT_ANSWER_TASKS, vqa_accuracy.compute_vqa_accuracy_raw)


def _build_exact_match() -> Metric:
    return Metric("exact_match", exact_match.SIGNATURE, SHORT_ANSWER_TASKS, exact_match.compute_exact_match)


def _build_soft_vqa_accuracy() -> Metric:
    return Metric(
        "soft_vqa_accuracy", soft_vqa_accuracy.SIGNATURE, SHORT_ANSWER_TASKS, soft_vqa_accuracy.compute_soft_vqa_accuracy
    )


def _build_sbert_score() -> Metric:
    return Metric("sbert_score", sbert_score.read_signature(), ALL_TASKS, sbert_score.compute_sbert_score)


METRICS: Mapping[str, Callable[[], Metric]] = {
    "vqa_accuracy": _build_vqa_accuracy,
    "vqa_accuracy_raw": _build_vqa_accuracy_raw,
    "exact_match": _build_exact_match,
    "soft_vqa_accuracy": _build_soft_vqa_accuracy,
    "sbert_score": _build_sbert_score,
}
"""Builders, so that a missing package is an error only for who asks for that metric."""
