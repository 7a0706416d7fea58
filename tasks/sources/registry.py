"""Which sources there are, and how a benchmark's is read. Formats are each source's own file."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from judgelake.tasks.digests import digest_json, files_digest
from judgelake.tasks.errors import SourceError
from judgelake.tasks.extensions import Registry
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.sources import (
    alpaca_eval,
    fastchat,
    flickr8k,
    images,
    judge_retest,
    nq301,
    owleval,
    prometheus_vision,
    visit_bench,
    vqa,
)
from judgelake.tasks.sources.frames import SourceFrames
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.sampling import SampleSettings
from judgelake.tasks.sources.table import source as table


@dataclass(frozen=True)
class BenchmarkSettings:
    """One benchmark of a suite: the kind of source and its settings; `strict` stops an ingest that
    would quarantine anything, `sample` takes a random part of the items.
    """

    name: str
    source: str
    settings: object
    strict: bool = False
    sample: SampleSettings | None = None


@frozen_settings
class DemoSettings:
    """The demo benchmark, drawn from `seed`; `scenes` pictures with a few items each. `pictures:
    shapes` draws scenes of shapes alone, without charts and panels whose text must be read;
    `tasks` keeps the questions of some tasks, all of them where it names none. `split` keeps the
    questions whose text is one of three quarters (`train`) or of the last quarter (`test`) of all
    texts. `foils: true` takes a right answer of another picture for each wrong answer, so that the
    text alone does not show which answer is wrong: with `pictures: shapes, tasks: [vqa]` alone.
    `feedback: true` adds the oracle as a recorded judge, whose feedback says what is right.
    `shuffled: true` gives each answer the verdict on another, from which nothing can be learnt.
    """

    seed: int = 7
    scenes: int = 40
    pictures: Literal["all", "shapes"] = "all"
    tasks: tuple[Literal["vqa", "referring", "document", "caption"], ...] = ()
    split: Literal["all", "train", "test"] = "all"
    foils: bool = False
    feedback: bool = False
    shuffled: bool = False

    def __post_init__(self) -> None:
        if self.foils and (self.pictures != "shapes" or self.tasks != ("vqa",)):
            raise ValueError(
                "foils: true; expected with `pictures: shapes` and `tasks: [vqa]`, whose questions "
                "have foils; add them"
            )


def _draw(settings: DemoSettings, image_root: LakePath) -> SourceFrames:
    from judgelake.tasks.sources.demo import (
        draw_demo,
    )  # draws with Pillow, which no other source needs

    return draw_demo(
        settings.seed,
        settings.scenes,
        image_root,
        only_scenes=settings.pictures == "shapes",
        tasks=settings.tasks,
        split=settings.split,
        with_foils=settings.foils,
        with_feedback=settings.feedback,
        shuffled=settings.shuffled,
    )


SOURCES = Registry(
    "judgelake.sources",
    Source,
    [
        alpaca_eval.SOURCE,
        Source("demo", DemoSettings, 1, lambda _: [], _draw),
        fastchat.SOURCE,
        flickr8k.SOURCE,
        images.SOURCE,
        judge_retest.SOURCE,
        nq301.SOURCE,
        nq301.OUTPUTS_SOURCE,
        owleval.SOURCE,
        prometheus_vision.SOURCE,
        table.SOURCE,
        visit_bench.SOURCE,
        vqa.SOURCE,
    ],
)


def source_digest(settings: object) -> str:
    """A digest of what an ingest would read: settings, reader version and the bytes of every file;
    equal digests need no new ingest.
    """
    source = _find(settings)
    files = source.files(settings)
    values = {name: str(value) for name, value in dataclasses.asdict(settings).items()}  # type: ignore[call-overload]
    names = sorted("/".join(file.parts[-2:]) for file in files)  # a folder may name the model
    return digest_json(
        [source.version, type(settings).__name__, values, names, files_digest(files)]
    )


def source_files(settings: object) -> list[Path]:
    """The files that an ingest would read; raises SourceError where one is missing."""
    return _find(settings).files(settings)


def source_size(settings: object) -> int:
    """Bytes of the files that an ingest would read; 0 where there are none, or one is missing."""
    try:
        return sum(file.stat().st_size for file in source_files(settings))
    except (OSError, SourceError):
        return 0


def read_source(settings: object, image_root: LakePath) -> SourceFrames:
    """Read (or draw) a benchmark; raises SourceError where a file cannot be read at all."""
    return _find(settings).read(settings, image_root)


def _find(settings: object) -> Source:
    return next(source for source in SOURCES.values() if type(settings) is source.settings)
