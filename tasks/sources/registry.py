"""Which sources there are: their settings, the files they depend on, how they are read. Formats are
each source's own file.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgelake.tasks.digests import digest_json, files_digest
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.sources import (
    alpaca_eval,
    fastchat,
    flickr8k,
    judge_retest,
    nq301,
    owleval,
    prometheus_vision,
    visit_bench,
    vqa,
)
from judgelake.tasks.sources.frames import SourceFrames
from judgelake.tasks.sources.table import settings as table_settings
from judgelake.tasks.sources.table import source as table


@dataclass(frozen=True)
class BenchmarkSettings:
    """One benchmark of a suite: the kind of source and its settings; `strict` stops an ingest that
    would quarantine anything.
    """

    name: str
    source: str
    settings: object
    strict: bool = False


@frozen_settings
class DemoSettings:
    """The demo benchmark, drawn from `seed`; `scenes` pictures with a few items each."""

    seed: int = 7
    scenes: int = 40


@dataclass(frozen=True)
class Source:
    """One kind of source. `version` rises when its reading changes, `files` are all it reads,
    `read` also gets the image root.
    """

    settings: type[Any]
    version: int
    files: Callable[[Any], list[Path]]
    read: Callable[[Any, LakePath], SourceFrames]


def _draw(settings: DemoSettings, image_root: LakePath) -> SourceFrames:
    from judgelake.tasks.sources.demo import (
        draw_demo,
    )  # draws with Pillow, which no other source needs

    return draw_demo(settings.seed, settings.scenes, image_root)


SOURCES: Mapping[str, Source] = {
    "alpaca_eval": Source(
        alpaca_eval.AlpacaEvalSettings,
        alpaca_eval.VERSION,
        alpaca_eval.source_files,
        lambda settings, _: alpaca_eval.read_alpaca_eval(settings),
    ),
    "demo": Source(DemoSettings, 1, lambda _: [], _draw),
    "fastchat": Source(
        fastchat.FastchatSettings,
        fastchat.VERSION,
        fastchat.source_files,
        lambda settings, _: fastchat.read_fastchat(settings),
    ),
    "flickr8k": Source(
        flickr8k.Flickr8kSettings,
        flickr8k.VERSION,
        flickr8k.source_files,
        lambda settings, _: flickr8k.read_flickr8k(settings),
    ),
    "judge_retest": Source(
        judge_retest.JudgeRetestSettings,
        judge_retest.VERSION,
        judge_retest.source_files,
        lambda settings, _: judge_retest.read_judge_retest(settings),
    ),
    "nq301": Source(
        nq301.Nq301Settings,
        nq301.VERSION,
        nq301.source_files,
        lambda settings, _: nq301.read_nq301(settings),
    ),
    "nq_outputs": Source(
        nq301.NqOutputsSettings,
        nq301.VERSION,
        nq301.output_files,
        lambda settings, _: nq301.read_nq_outputs(settings),
    ),
    "owleval": Source(
        owleval.OwlEvalSettings,
        owleval.VERSION,
        owleval.source_files,
        lambda settings, _: owleval.read_owleval(settings),
    ),
    "prometheus_vision": Source(
        prometheus_vision.PrometheusVisionSettings,
        prometheus_vision.VERSION,
        prometheus_vision.source_files,
        lambda settings, _: prometheus_vision.read_prometheus_vision(settings),
    ),
    "table": Source(
        table_settings.TableSettings,
        table.VERSION,
        table.source_files,
        lambda settings, _: table.read_table(settings),
    ),
    "visit_bench": Source(
        visit_bench.VisitBenchSettings,
        visit_bench.VERSION,
        visit_bench.source_files,
        lambda settings, _: visit_bench.read_visit_bench(settings),
    ),
    "vqa": Source(
        vqa.VqaSettings, vqa.VERSION, vqa.source_files, lambda settings, _: vqa.read_vqa(settings)
    ),
}


def source_digest(settings: object) -> str:
    """Names what an ingest would read: settings, reader version and the bytes of every file; equal
    digests need no new ingest.
    """
    source = _find(settings)
    files = source.files(settings)
    values = {name: str(value) for name, value in dataclasses.asdict(settings).items()}  # type: ignore[call-overload]
    names = sorted("/".join(file.parts[-2:]) for file in files)  # a folder may name the model
    return digest_json(
        [source.version, type(settings).__name__, values, names, files_digest(files)]
    )


def read_source(settings: object, image_root: LakePath) -> SourceFrames:
    """Read (or draw) a benchmark; raises SourceError where a file cannot be read at all."""
    return _find(settings).read(settings, image_root)


def _find(settings: object) -> Source:
    return next(source for source in SOURCES.values() if type(settings) is source.settings)
