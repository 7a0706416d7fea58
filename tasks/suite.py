"""The suite file (YAML) as frozen, validated settings. What the settings do lives with what they set."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from tasks.digests import digest_json
from tasks.errors import MetricError, SuiteError
from tasks.images import ImageLimits
from tasks.judging.protocols import PROTOCOLS, Identity, Options, identify_judge, identify_metric
from tasks.metrics.registry import METRICS, resolve_metric
from tasks.settings import Place, build, convert, entries, expand, nearest, read_yaml
from tasks.sources.registry import SOURCES

V = TypeVar("V")
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


def _expect(holds: bool, key: str, value: object, expected: str) -> None:
    if not holds:
        raise ValueError(f"{key}: {value}; expected {expected}")


@dataclass(frozen=True)
class ReportSettings:
    """How reports resample; intervals are 95 %. `min_coverage`: share of wanted scores below which a mean is flagged."""

    against: Literal["human"] = "human"
    resamples: int = 2000
    seed: int = 7
    min_coverage: float = 0.98

    def __post_init__(self) -> None:
        _expect(self.resamples >= 1, "resamples", self.resamples, "a whole number from 1")
        _expect(self.seed >= 0, "seed", self.seed, "a whole number from 0")
        _expect(0 <= self.min_coverage <= 1, "min_coverage", self.min_coverage, "a share from 0 to 1")


@dataclass(frozen=True)
class LimitSettings:
    """What an endpoint may be asked: requests in flight, and requests a minute (None: no limit); what an image file may be."""

    concurrency: int = 64
    requests_per_minute: int | None = None
    image_mb: float = 50.0
    image_megapixels: float = 89.478485

    def __post_init__(self) -> None:
        _expect(self.concurrency >= 1, "concurrency", self.concurrency, "a whole number from 1")
        per_minute = self.requests_per_minute
        _expect(per_minute is None or per_minute >= 1, "requests_per_minute", per_minute, "a whole number from 1, or null")
        _expect(self.image_mb > 0, "image_mb", self.image_mb, "megabytes above 0")
        _expect(
            0 < self.image_megapixels <= 178, "image_megapixels", self.image_megapixels, "above 0 and up to 178, Pillow's end"
        )

    @property
    def images(self) -> ImageLimits:
        """The limits that the image check at ingest takes."""
        return ImageLimits(round(self.image_mb * 1e6), round(self.image_megapixels * 1e6))


@dataclass(frozen=True)
class EndpointSettings:
    """Where a judge's model is asked. `api_key_variable` names an environment variable; a key itself never stands in a suite.

    `backend: replay` answers from the replies in the lake `cassette` and asks nobody.
    """

    backend: Literal["openai", "replay", "standin"]
    model: str = ""
    base_url: str | None = None
    api_key_variable: str = "OPENAI_API_KEY"
    timeout_s: float = 120.0
    max_attempts: int = 6
    benchmarks: tuple[str, ...] = ()
    cassette: Path | None = None

    def __post_init__(self) -> None:
        _expect(self.timeout_s > 0, "timeout_s", self.timeout_s, "seconds above 0")
        _expect(self.max_attempts >= 1, "max_attempts", self.max_attempts, "a whole number from 1")
        if self.backend == "standin":
            object.__setattr__(self, "model", "standin/rules")
        if (self.backend == "replay") != (self.cassette is not None):
            raise ValueError("cassette: the lake to replay; expected with `backend: replay` and only there; add or remove it")
        if not self.model:
            raise ValueError("model: missing; expected `provider/model`, such as openai/gpt-4o-mini-2024-07-18; add it")


@dataclass(frozen=True)
class JudgeSettings:
    """One judge of a suite: its protocol with options, and where its model is asked."""

    alias: str
    protocol: str
    endpoint: EndpointSettings
    options: Options


@dataclass(frozen=True)
class BenchmarkSettings:
    """One benchmark of a suite: the kind of source and its settings; `strict` stops an ingest that would quarantine anything."""

    name: str
    source: str
    settings: object
    strict: bool = False


@dataclass(frozen=True)
class Suite:
    """Everything a run does. `digest` names the file's text; `images` is the root of relative image URIs."""

    name: str
    file: Path
    digest: str
    benchmarks: Mapping[str, BenchmarkSettings]
    metrics: tuple[str, ...] = ()
    judges: Mapping[str, JudgeSettings] = field(default_factory=dict)
    images: Path | None = None
    report: ReportSettings = field(default_factory=ReportSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    notice: str | None = None


@dataclass(frozen=True)
class Scope:
    """What `--limit`, `--judge` and `--benchmark` leave of a suite; empty tuples mean all."""

    limit: int | None = None
    judges: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()


def read_suite(file: Path) -> Suite:
    """Read and check a suite file; raises SuiteError naming the line."""
    place = read_yaml(file)
    found = entries(place)
    keys = {part.name for part in dataclasses.fields(Suite)} - {"file", "digest"}
    for key in [key for key in found if key not in keys]:
        raise _key_place(place, key).fail(f"unknown key {key!r}; {nearest(key, keys)}")
    for key in ("name", "benchmarks"):
        if key not in found:
            raise place.fail(f"the key {key!r} is missing; every suite has a name and benchmarks")
    benchmarks = {name: _benchmark(name, part) for name, part in entries(found["benchmarks"]).items()}
    if not benchmarks:
        raise found["benchmarks"].fail("benchmarks: there is none; expected at least one; add it")
    return Suite(
        name=_slug(found["name"]),
        file=file.absolute(),
        digest=digest_json(file.read_text(encoding="utf-8")),
        benchmarks=benchmarks,
        metrics=_metrics(found.get("metrics")),
        judges=_judges(found.get("judges"), benchmarks),
        images=convert(Path, found["images"], "images") if "images" in found else None,
        report=build(ReportSettings, found["report"]) if "report" in found else ReportSettings(),
        limits=build(LimitSettings, found["limits"]) if "limits" in found else LimitSettings(),
        notice=expand(found["notice"]) if "notice" in found else None,
    )


def narrow(suite: Suite, scope: Scope) -> Suite:
    """The suite with only the judges and benchmarks of `scope`; raises SuiteError for a name it does not have."""
    benchmarks = _pick("--benchmark", scope.benchmarks, suite.benchmarks)
    names = _pick("--judge", scope.judges, {**dict.fromkeys(suite.metrics), **suite.judges})
    judges = {alias: judge for alias, judge in suite.judges.items() if alias in names}
    metrics = tuple(metric for metric in suite.metrics if metric in names)
    return dataclasses.replace(suite, benchmarks=benchmarks, judges=judges, metrics=metrics)


def identify_all(suite: Suite) -> tuple[Identity, ...]:
    """The metrics and judges of a suite as the lake names them, metrics first."""
    every = tuple(suite.benchmarks)
    metrics = tuple(identify_metric(name, every) for name in suite.metrics)
    return metrics + tuple(
        identify_judge(judge.alias, judge.protocol, judge.options, judge.endpoint.model, judge.endpoint.benchmarks or every)
        for judge in suite.judges.values()
    )


def _pick(option: str, wanted: tuple[str, ...], have: Mapping[str, V]) -> dict[str, V]:
    for name in wanted:
        if name not in have:
            raise SuiteError(f"{option} {name}: the suite has none of that name; {nearest(name, have)}")
    return {name: value for name, value in have.items() if not wanted or name in wanted}


def _key_place(place: Place, key: str) -> Place:
    return Place(place.file, next(node for node, _ in place.node.value if node.value == key))


def _slug(place: Place) -> str:
    text = expand(place)
    if not _NAME.fullmatch(text):
        raise place.fail(f"name: {text!r}; expected lower-case letters, digits, '_', '.', '-' (it names a folder); rename it")
    return text


def _benchmark(name: str, place: Place) -> BenchmarkSettings:
    if not _NAME.fullmatch(name):
        raise place.fail(f"benchmark {name!r}; expected lower-case letters, digits, '_', '.', '-' (it names a folder); rename it")
    kind = _kind(place, "source", SOURCES)
    found = entries(place)
    strict = convert(bool, found["strict"], "strict") if "strict" in found else False
    return BenchmarkSettings(name, kind, build(SOURCES[kind].settings, place, skip=("source", "strict")), strict)


def _kind(place: Place, key: str, valid: Mapping[str, object]) -> str:
    found = entries(place)
    if key not in found:
        raise place.fail(f"the key {key!r} is missing; expected one of {', '.join(sorted(valid))}")
    kind = expand(found[key])
    if kind not in valid:
        raise found[key].fail(f"{key}: {kind!r}; {nearest(kind, valid)}")
    return kind


def _metrics(place: Place | None) -> tuple[str, ...]:
    if place is None:
        return ()
    names: tuple[str, ...] = convert(tuple[str, ...], place, "metrics")
    for number, (name, node) in enumerate(zip(names, place.node.value, strict=True)):
        here = Place(place.file, node)
        try:
            resolve_metric(name)
        except MetricError as error:
            raise here.fail(str(error)) from None
        if name in names[:number]:
            raise here.fail(f"metrics: {name!r} stands twice; remove one")
    return names


def _judges(place: Place | None, benchmarks: Mapping[str, object]) -> dict[str, JudgeSettings]:
    return {alias: _judge(alias, part, benchmarks) for alias, part in entries(place).items()} if place else {}


def _judge(alias: str, place: Place, benchmarks: Mapping[str, object]) -> JudgeSettings:
    if not _NAME.fullmatch(alias) or alias in METRICS:
        what = "is a metric's name" if alias in METRICS else "is no alias"
        raise place.fail(
            f"judge {alias!r} {what}; expected lower-case letters, digits, '_', '.', '-' and no metric's name; rename it"
        )
    protocol = _kind(place, "protocol", PROTOCOLS)
    options_type = PROTOCOLS[protocol].options
    own = {part.name for part in dataclasses.fields(options_type)}
    shared = {part.name for part in dataclasses.fields(EndpointSettings)} | {"protocol"}
    endpoint = build(EndpointSettings, place, skip=own | {"protocol"})
    for name in endpoint.benchmarks:
        if name not in benchmarks:
            raise entries(place)["benchmarks"].fail(f"benchmarks: the suite has no {name!r}; {nearest(name, benchmarks)}")
    return JudgeSettings(alias, protocol, endpoint, build(options_type, place, skip=shared))
