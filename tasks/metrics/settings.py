"""A metric of a suite: its kind with options, and the benchmarks it scores. What there is to choose
is `tasks.metrics.metric`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from judgelake.tasks.digests import digest_json, judge_id
from judgelake.tasks.errors import MetricError, nearest
from judgelake.tasks.metrics.documents import digest_documents
from judgelake.tasks.metrics.metric import ALL_TASKS, Metric, Scored
from judgelake.tasks.metrics.registry import KINDS, METRICS
from judgelake.tasks.metrics.rows import ScoreRows
from judgelake.tasks.settings import NAME, Place, build, entries, expand, read_value, sequence
from judgelake.tasks.types import Identity, Wants

READING = "score"
"""A metric is read in one way."""

_OWN_KEYS = ("metric", "alias", "benchmarks")


@dataclass(frozen=True)
class MetricSettings:
    """One metric of a suite; no benchmarks mean all of the suite's."""

    alias: str
    kind: str
    options: Any
    benchmarks: tuple[str, ...] = ()

    def resolve(self, documents: str = "") -> Metric:
        """The metric; `documents` names what it counts in, for its signature.

        One that cannot even be named here, because a package is missing, refuses to compute: the
        rest of a run goes on without it.
        """
        try:
            return KINDS[self.kind].build(self.options, documents)
        except MetricError as error:
            return _refuse(self, str(error))

    def identify(self, every: tuple[str, ...], ingests: Mapping[str, str]) -> tuple[Identity, ...]:
        """What the lake calls it: one identity, but one a benchmark where the benchmark's own
        references are counted first.

        `every` are the suite's benchmarks, `ingests` name what the lake holds of each (see
        `tasks.planning.scores.name_ingests`). A benchmark without an ingest has no references that
        could be counted, hence no identity.
        """
        benchmarks, counting = self.benchmarks or every, self.resolve().counting
        if counting is None:
            return (self._name(self.resolve(), benchmarks),)
        if counting.documents.file is not None:
            return (
                self._name(self.resolve(digest_documents(counting.documents.file)), benchmarks),
            )
        return tuple(
            self._name(self.resolve(ingests[benchmark]), (benchmark,))
            for benchmark in benchmarks
            if benchmark in ingests
        )

    def _name(self, metric: Metric, benchmarks: tuple[str, ...]) -> Identity:
        own_id = judge_id({"metric": metric.signature})
        return Identity(
            "metric",
            self.alias,
            own_id,
            READING,
            metric.signature,
            "",
            benchmarks,
            Wants(metric.tasks),
        )


def _refuse(settings: MetricSettings, reason: str) -> Metric:
    def compute(_rows: ScoreRows, _counts: Path | None) -> Scored:
        raise MetricError(reason)

    chosen = digest_json([settings.kind, repr(settings.options)])[:16]
    return Metric(
        settings.kind, f"{settings.kind}|unavailable|options:{chosen}", ALL_TASKS, compute
    )


def name_metric(name: str) -> MetricSettings:
    """The metric that a plain name of a suite stands for; raises KeyError for a name that is
    none.
    """
    kind, chosen = METRICS[name]
    return MetricSettings(name, kind, KINDS[kind].options(**chosen))


def read_metrics(
    place: Place | None, benchmarks: Collection[str], judges: Collection[str]
) -> tuple[MetricSettings, ...]:
    """Read a suite's `metrics`, whose aliases differ from each other and from `judges`; raises
    SuiteError naming the line.
    """
    metrics: list[MetricSettings] = []
    for part in sequence(place, "metrics") if place else []:
        metric = _read_metric(part, benchmarks)
        if metric.alias in {other.alias for other in metrics}:
            raise part.fail(
                f"metrics: {metric.alias!r} stands twice; remove one, or give one an `alias`"
            )
        if metric.alias in judges:
            raise part.fail(
                f"metrics: {metric.alias!r} is a judge's name, too; expected another; give it "
                f"another `alias`"
            )
        for other in metrics:
            if (metric.kind, metric.options) == (other.kind, other.options):
                raise part.fail(
                    f"metrics: {metric.alias!r} is the same metric as {other.alias!r}; remove one"
                )
        metrics.append(metric)
    return tuple(metrics)


def _read_metric(place: Place, benchmarks: Collection[str]) -> MetricSettings:
    if isinstance(place.node, yaml.ScalarNode):
        return name_metric(_known_name(place))
    values = entries(place)
    if "metric" not in values:
        raise place.fail(f"the key 'metric' is missing; expected one of {', '.join(METRICS)}")
    name = _known_name(values["metric"])
    alias = expand(values["alias"]) if "alias" in values else name
    if not NAME.fullmatch(alias):
        raise values["alias"].fail(
            f"alias: {alias!r}; expected lower-case letters, digits, '_', '.', '-'; rename it"
        )
    chosen: tuple[str, ...] = (
        read_value(tuple[str, ...], values["benchmarks"], "benchmarks")
        if "benchmarks" in values
        else ()
    )
    for benchmark in chosen:
        if benchmark not in benchmarks:
            raise values["benchmarks"].fail(
                f"benchmarks: the suite has no {benchmark!r}; {nearest(benchmark, benchmarks)}"
            )
    return MetricSettings(alias, METRICS[name][0], _read_options(name, place), chosen)


def _known_name(place: Place) -> str:
    name = expand(place)
    if name not in METRICS:
        raise place.fail(f"metrics: {name!r} is no metric; {nearest(name, METRICS)}")
    return name


def _read_options(name: str, place: Place) -> Any:
    """The options that the name stands for, and those given."""
    kind, chosen = METRICS[name]
    return build(KINDS[kind].options, place, skip=_OWN_KEYS, defaults=chosen)
