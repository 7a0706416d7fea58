"""The suite file (YAML) as frozen, validated settings. What a setting does is in the module that
uses it.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from judgelake.tasks.backends.endpoint import expect
from judgelake.tasks.collection.collectors import find_protocol
from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import SuiteError, nearest
from judgelake.tasks.lake.images import ImageLimits
from judgelake.tasks.lake.storage import LakePath, open_place
from judgelake.tasks.metrics.settings import MetricSettings, read_metrics
from judgelake.tasks.settings import (
    NAME,
    Place,
    SuitePath,
    build,
    entries,
    expand,
    frozen_settings,
    key_place,
    parse_yaml,
    read_kind,
    read_text,
    read_value,
)
from judgelake.tasks.sources.registry import SOURCES, BenchmarkSettings
from judgelake.tasks.sources.sampling import SampleSettings
from judgelake.tasks.suite.answerers import read_answerers
from judgelake.tasks.suite.collection import (
    CollectionSettings,
    make_collectors,
    read_collection,
)
from judgelake.tasks.suite.judges import (
    JudgeSettings,
    expect_prices,
    find_left_out,
    read_judge,
    seat_juries,
)
from judgelake.tasks.suite.training import TrainingSettings, read_training
from judgelake.tasks.types import Identity, Unit

V = TypeVar("V")
DifferenceTest = Literal["williams", "perm_both", "replicates"]
NOTHING_INGESTED: Mapping[str, str] = {}


@frozen_settings
class ReportSettings:
    """How reports resample; intervals are 95 %. `min_coverage`: a mean over a smaller share of the
    wanted scores is flagged. `good_enough`: the agreement with people (Spearman, or kappa of
    choices) that a judge's interval must lie above to be called good enough on the page.

    `against`: what judges are correlated with: people (`human`), or a judge by its alias, which may
    be a recorded one. `against_samples`: the numbers of that judge's samples to use; by default the
    first half of them (all where their number is odd). `tests`: tests of the difference of two
    judges, beside the paired bootstrap; their assumptions are in `tasks.stats.difference_tests`.
    `elo_k`: how far one comparison moves Elo ratings. `elo_scale`: the gap of ratings that means
    odds of ten to one, of Bradley-Terry too. `elo_start`: where Elo starts and what Bradley-Terry
    ratings average; FastChat's 4, 400 and 1000 by default.
    """

    against: str = "human"
    against_samples: tuple[int, ...] = ()
    tests: tuple[DifferenceTest, ...] = ()
    resamples: int = 2000
    seed: int = 7
    min_coverage: float = 0.98
    good_enough: float | None = None
    elo_k: float = 4.0
    elo_scale: float = 400.0
    elo_start: float = 1000.0

    def __post_init__(self) -> None:
        given = self.against_samples
        expect(
            not given or self.against != "human",
            "against_samples",
            given,
            "none where `against` is human",
        )
        expect(
            len({*given}) == len(given) and min(given, default=0) >= 0,
            "against_samples",
            given,
            "different numbers from 0",
        )
        expect(len({*self.tests}) == len(self.tests), "tests", self.tests, "each test once")
        expect(self.resamples >= 1, "resamples", self.resamples, "a whole number from 1")
        expect(self.seed >= 0, "seed", self.seed, "a whole number from 0")
        expect(
            0 <= self.min_coverage <= 1, "min_coverage", self.min_coverage, "a share from 0 to 1"
        )
        expect(
            self.good_enough is None or 0 < self.good_enough <= 1,
            "good_enough",
            self.good_enough,
            "a number above 0, at most 1",
        )
        expect(0 < self.elo_k < float("inf"), "elo_k", self.elo_k, "a number above 0")
        expect(0 < self.elo_scale < float("inf"), "elo_scale", self.elo_scale, "a number above 0")
        expect(abs(self.elo_start) < float("inf"), "elo_start", self.elo_start, "a finite number")


@frozen_settings
class LimitSettings:
    """Limits of a run. `concurrency`: requests in flight at an endpoint. `requests_per_minute`:
    requests a minute at an endpoint, no limit by default.

    `budget_usd` is the most that one run may spend at endpoints. `image_mb` and `image_megapixels`
    are the largest image file that is taken.
    """

    concurrency: int = 64
    requests_per_minute: int | None = None
    budget_usd: float | None = None
    image_mb: float = 50.0
    image_megapixels: float = 89.478485

    def __post_init__(self) -> None:
        expect(self.concurrency >= 1, "concurrency", self.concurrency, "a whole number from 1")
        per_minute = self.requests_per_minute
        expect(
            per_minute is None or per_minute >= 1,
            "requests_per_minute",
            per_minute,
            "a whole number from 1, or null",
        )
        budget = self.budget_usd
        expect(
            budget is None or 0 <= budget < float("inf"),
            "budget_usd",
            budget,
            "US dollars from 0, or null",
        )
        expect(self.image_mb > 0, "image_mb", self.image_mb, "megabytes above 0")
        expect(
            0 < self.image_megapixels <= 178,
            "image_megapixels",
            self.image_megapixels,
            "above 0 and up to 178, Pillow's own limit",
        )

    @property
    def images(self) -> ImageLimits:
        """The limits that the image check at ingest takes."""
        return ImageLimits(round(self.image_mb * 1e6), round(self.image_megapixels * 1e6))


@dataclass(frozen=True)
class Suite:
    """Everything that a suite file says. `text` is the file's, `digest` that of the text; `images`
    is the folder of relative image URIs. `left_out`: judge -> the packages that it lacks.
    """

    name: str
    file: Path
    digest: str
    benchmarks: Mapping[str, BenchmarkSettings]
    metrics: tuple[MetricSettings, ...] = ()
    judges: Mapping[str, JudgeSettings] = field(default_factory=dict)
    images: LakePath | None = None
    report: ReportSettings = field(default_factory=ReportSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    notice: str | None = None
    training: TrainingSettings | None = None
    collection: CollectionSettings | None = None
    answerers: Mapping[str, JudgeSettings] = field(default_factory=dict)
    text: str = ""
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def raters(self) -> list[str]:
        """The names of its metrics and judges, sorted."""
        return sorted([*(metric.alias for metric in self.metrics), *self.judges])

    def image_root(self, lake_root: LakePath) -> LakePath:
        """The folder of relative image URIs: the suite's `images`, else the folder `images` of the
        lake.
        """
        return self.images or lake_root / "images"


@dataclass(frozen=True)
class Scope:
    """The part of a suite that `--limit`, `--judge` and `--benchmark` choose; an empty tuple means
    all.
    """

    limit: int | None = None
    judges: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()


# fields of a suite that no key of its file gives
_NOT_KEYS = {"file", "digest", "text", "left_out"}


def read_suite(file: Path) -> Suite:
    """Read and check a suite file; raises SuiteError naming the line."""
    return parse_suite(file, read_text(file))


def parse_suite(file: Path, text: str) -> Suite:
    """Check the text of a suite file, whose relative paths begin at `file`; raises SuiteError
    naming the line.
    """
    place = parse_yaml(file, text)
    places = entries(place)
    keys = {part.name for part in dataclasses.fields(Suite)} - {
        "file",
        "digest",
        "text",
        "left_out",
    }
    for key in [key for key in places if key not in keys]:
        raise key_place(place, key).fail(f"unknown key {key!r}; {nearest(key, keys)}")
    for key in ("name", "benchmarks"):
        if key not in places:
            raise place.fail(f"the key {key!r} is missing; every suite has a name and benchmarks")
    benchmarks = {
        name: _benchmark(name, part) for name, part in entries(places["benchmarks"]).items()
    }
    if not benchmarks:
        raise places["benchmarks"].fail("benchmarks: there is none; expected at least one; add it")
    all_judges = entries(places["judges"]) if "judges" in places else {}
    left_out = find_left_out(all_judges)
    judges = _judges(
        {alias: part for alias, part in all_judges.items() if alias not in left_out}, benchmarks
    )
    limits = build(LimitSettings, places["limits"]) if "limits" in places else LimitSettings()
    if limits.budget_usd is not None and judges:
        expect_prices(judges, places["judges"])
    report = build(ReportSettings, places["report"]) if "report" in places else ReportSettings()
    if report.against != "human" and report.against in judges:
        _check_target(report, judges[report.against], entries(places["report"]))
    return Suite(
        name=_slug(places["name"]),
        file=file.absolute(),
        digest=digest_json(text),
        benchmarks=benchmarks,
        metrics=read_metrics(
            places.get("metrics"),
            benchmarks,
            all_judges,
        ),
        judges=judges,
        images=_image_root(places["images"]) if "images" in places else None,
        report=report,
        limits=limits,
        notice=expand(places["notice"]) if "notice" in places else None,
        training=read_training(places["training"], judges, benchmarks)
        if "training" in places
        else None,
        collection=read_collection(places["collection"], benchmarks, limits.budget_usd is not None)
        if "collection" in places
        else None,
        answerers=read_answerers(places["answerers"], benchmarks, limits.budget_usd is not None)
        if "answerers" in places
        else {},
        text=text,
        left_out=left_out,
    )


def narrow(suite: Suite, scope: Scope) -> Suite:
    """The suite with only the judges and benchmarks of `scope`; raises SuiteError for a name it
    does not have.
    """
    benchmarks = _pick("--benchmark", scope.benchmarks, suite.benchmarks)
    names = _pick(
        "--judge",
        scope.judges,
        {**{metric.alias: None for metric in suite.metrics}, **suite.judges},
    )
    judges = {alias: judge for alias, judge in suite.judges.items() if alias in names}
    metrics = tuple(metric for metric in suite.metrics if metric.alias in names)
    return dataclasses.replace(suite, benchmarks=benchmarks, judges=judges, metrics=metrics)


def name_collection(name: str) -> str:
    """The name under which the collection of a suite runs and is reported."""
    return f"{name}.collection"


def suite_of_collection(suite: Suite) -> Suite:
    """The suite that a collection runs as: its benchmarks, and its collectors as judges; raises
    SuiteError where the suite has no block `collection`.
    """
    settings = suite.collection
    if settings is None:
        raise SuiteError(
            f"{suite.file}: has no collection; expected `collection: {{benchmarks: [...], "
            f"backend: ..., model: ...}}`; add it"
        )
    return dataclasses.replace(
        suite,
        name=name_collection(suite.name),
        benchmarks={name: suite.benchmarks[name] for name in settings.benchmarks},
        judges=make_collectors(settings),
        metrics=(),
        training=None,
    )


def suite_of_answerers(suite: Suite) -> Suite:
    """The suite that its answerers run as, in the place of its judges; raises SuiteError where it
    has none.
    """
    if not suite.answerers:
        raise SuiteError(
            f"{suite.file}: has no answerers; expected `answerers: {{NAME: {{backend: ..., "
            f"model: ...}}}}`; add it"
        )
    return dataclasses.replace(
        suite,
        name=f"{suite.name}.answers",
        judges=suite.answerers,
        metrics=(),
        training=None,
        collection=None,
    )


def stages_of(suite: Suite) -> list[Suite]:
    """The suite in parts, in the order in which they can be planned: first judges that write
    captions; then the metrics and most judges, which may use captions; then judges of feedback and
    of failures, which need scores (`needs_scores`); then juries, which need their members'
    verdicts.
    """
    orders = {alias: _stage_number(judge) for alias, judge in suite.judges.items()}
    parts = [
        {alias: judge for alias, judge in suite.judges.items() if orders[alias] == number}
        for number in range(4)
    ]
    stages = [
        dataclasses.replace(suite, judges=part, metrics=suite.metrics if number == 1 else ())
        for number, part in enumerate(parts)
    ]
    return [stage for stage in stages if stage.judges or stage.metrics]


def needs_scores(stage: Suite) -> bool:
    """Whether the judges of a stage need the scores of the metrics to be planned."""
    return any(
        find_protocol(judge.protocol).wants(judge.options).failures
        for judge in stage.judges.values()
    )


_STAGE_OF: Mapping[Unit, int] = {
    "image": 0,
    "item": 0,
    "answer": 1,
    "pair": 1,
    "feedback": 2,
    "rubrics": 0,
    "instructions": 1,
    "responses": 2,
    "augmentation": 0,
}


def _stage_number(judge: JudgeSettings) -> int:
    wants = find_protocol(judge.protocol).wants(judge.options)
    if judge.members:
        return 3
    return 2 if wants.failures else _STAGE_OF[wants.unit]


def identify_all(
    suite: Suite, ingests: Mapping[str, str] = NOTHING_INGESTED
) -> tuple[Identity, ...]:
    """The identities of a suite's metrics and judges, metrics first. `ingests`: benchmark -> digest
    of its data in the lake.
    """
    every = tuple(suite.benchmarks)
    metrics = tuple(
        identity for metric in suite.metrics for identity in metric.identify(every, ingests)
    )
    return metrics + tuple(judge.identify(every) for judge in suite.judges.values())


def _pick(option: str, wanted: tuple[str, ...], have: Mapping[str, V]) -> dict[str, V]:
    for name in wanted:
        if name not in have:
            raise SuiteError(
                f"{option} {name}: the suite has none of that name; {nearest(name, have)}"
            )
    return {name: value for name, value in have.items() if not wanted or name in wanted}


def _check_target(
    report: ReportSettings, judge: JudgeSettings, places: Mapping[str, Place]
) -> None:
    """Check that the judge named in `against` scores single answers and has the samples that
    `against_samples` names.
    """
    identity = judge.identify(())
    if identity.kind != "judge" or identity.wants.unit != "answer":
        raise places["against"].fail(
            f"against: {report.against!r} scores no single answers; expected `human` or a "
            f"judge that does; name another"
        )
    absent = [number for number in report.against_samples if number >= identity.wants.samples]
    if absent:
        raise places["against_samples"].fail(
            f"against_samples: {report.against!r} has no sample {absent[0]}; expected numbers "
            f"from 0 to {identity.wants.samples - 1}; "
            "name those, or ask the judge for more samples"
        )


def _image_root(place: Place) -> LakePath:
    """A folder, relative to the suite file, or a place in a bucket."""
    text: str = read_value(str, place, "images")
    return open_place(text) if text.startswith("s3://") else read_value(SuitePath, place, "images")


def _slug(place: Place) -> str:
    text = expand(place)
    if not NAME.fullmatch(text):
        raise place.fail(
            f"name: {text!r}; expected lower-case letters, digits, '_', '.', '-' (it names a "
            f"folder); rename it"
        )
    return text


def _benchmark(name: str, place: Place) -> BenchmarkSettings:
    if not NAME.fullmatch(name):
        raise place.fail(
            f"benchmark {name!r}; expected lower-case letters, digits, '_', '.', '-' (it names "
            f"a folder); rename it"
        )
    kind = read_kind(place, "source", SOURCES)
    places = entries(place)
    strict = read_value(bool, places["strict"], "strict") if "strict" in places else False
    sample = build(SampleSettings, places["sample"]) if "sample" in places else None
    settings = build(SOURCES[kind].settings, place, skip=("source", "strict", "sample"))
    return BenchmarkSettings(name, kind, settings, strict, sample)


def _judges(
    places: Mapping[str, Place], benchmarks: Mapping[str, object]
) -> dict[str, JudgeSettings]:
    judges = {alias: read_judge(alias, part, benchmarks) for alias, part in places.items()}
    judges = seat_juries(judges, places)
    named: dict[tuple[str, str, str], str] = {}
    for alias, judge in judges.items():
        identity = judge.identify(tuple(benchmarks))
        for benchmark in identity.benchmarks:
            other = named.setdefault((identity.judge_id, identity.reading, benchmark), alias)
            if other != alias:
                raise places[alias].fail(
                    f"judge {alias!r}: has the same model, options and reading on {benchmark} as "
                    f"{other!r}, so that every verdict would belong to both; "
                    "expected one judge, or another model, option or benchmark; remove one"
                )
    return judges
