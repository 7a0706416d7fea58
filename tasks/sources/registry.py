"""Which sources there are: their settings, the files they depend on, how they are read. Formats are each source's own file."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.digests import digest_json, files_digest
from tasks.sources import vqa
from tasks.sources.frames import SourceFrames


@dataclass(frozen=True)
class DemoSettings:
    """The demo benchmark, drawn from `seed`; `scenes` pictures with a few items each."""

    seed: int = 7
    scenes: int = 40


@dataclass(frozen=True)
class Source:
    """One kind of source. `version` rises when its reading changes, `files` are all it reads, `read` also gets the image root."""

    settings: type[Any]
    version: int
    files: Callable[[Any], list[Path]]
    read: Callable[[Any, Path], SourceFrames]


def _draw(settings: DemoSettings, image_root: Path) -> SourceFrames:
    from tasks.sources.demo import draw_demo  # draws with Pillow, which no other source needs

    return draw_demo(settings.seed, settings.scenes, image_root)


SOURCES: Mapping[str, Source] = {
    "demo": Source(DemoSettings, 1, lambda _: [], _draw),
    "vqa": Source(vqa.VqaSettings, vqa.VERSION, vqa.source_files, lambda settings, _: vqa.read_vqa(settings)),
}


def source_digest(settings: object) -> str:
    """Names what an ingest would read: settings, reader version and the bytes of every file; equal digests need no new ingest."""
    source = _find(settings)
    files = source.files(settings)
    values = {name: str(value) for name, value in dataclasses.asdict(settings).items()}  # type: ignore[call-overload]
    return digest_json([source.version, type(settings).__name__, values, files_digest(files)])


def read_source(settings: object, image_root: Path) -> SourceFrames:
    """Read (or draw) a benchmark; raises SourceError where a file cannot be read at all."""
    return _find(settings).read(settings, image_root)


def _find(settings: object) -> Source:
    return next(source for source in SOURCES.values() if type(settings) is source.settings)
