"""Which reference metrics there are, and the names that stand for common choices of options.

How a metric is computed lives in its own module; a model's packages are imported only when it is
computed.
"""

from collections.abc import Iterator, Mapping

from judgelake.tasks.extensions import Registry
from judgelake.tasks.metrics import exact_match, model_metrics, ngram_metrics, vqa_accuracy
from judgelake.tasks.metrics.metric import MetricKind

KINDS = Registry(
    "judgelake.metrics",
    MetricKind,
    [
        *vqa_accuracy.METRIC_KINDS,
        *exact_match.METRIC_KINDS,
        *ngram_metrics.METRIC_KINDS,
        *model_metrics.METRIC_KINDS,
    ],
)


class _Names(Mapping[str, tuple[str, Mapping[str, object]]]):
    """Name in a suite -> kind and the options that the name stands for."""

    def __getitem__(self, name: str) -> tuple[str, Mapping[str, object]]:
        if name in KINDS.own:
            return name, {}
        for kind in KINDS.values():
            if name == kind.name or name in kind.choices:
                return kind.name, kind.choices.get(name, {})
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter([*KINDS, *(name for kind in KINDS.values() for name in kind.choices)])

    def __len__(self) -> int:
        return len(list(iter(self)))


METRICS = _Names()
