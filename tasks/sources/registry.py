"""Which sources there are: their settings, the files they depend on, how they are read. Formats are each source's own file."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tasks.digests import digest_json, files_digest
from tasks.sources import vqa
from tasks.sources.frames import SourceFrames
from tasks.sources.vqa import VqaSettings


@dataclass(frozen=True)
class DemoSettings:
    """The demo benchmark, drawn from `seed`; `scenes` pictures with a few items each."""

    seed: int = 7
    scenes: int = 40


SourceSettings = VqaSettings | DemoSettings
SOURCES: Mapping[str, type[SourceSettings]] = {"vqa": VqaSettings, "demo": DemoSettings}
_DEMO_VERSION = 1


def source_digest(settings: SourceSettings) -> str:
    """Names what an ingest would read: settings, reader version and the bytes of every file; equal digests need no new ingest."""
    if isinstance(settings, DemoSettings):
        return digest_json(["demo", _DEMO_VERSION, dataclasses.asdict(settings)])
    files = vqa.source_files(settings)
    return digest_json(["vqa", vqa.VERSION, files_digest(files), [file.name for file in files]])


def read_source(settings: SourceSettings, image_root: Path) -> SourceFrames:
    """Read (or draw) a benchmark; raises SourceError where a file cannot be read at all."""
    if isinstance(settings, DemoSettings):
        from tasks.sources.demo import draw_demo  # draws with Pillow, which no other source needs

        return draw_demo(settings.seed, settings.scenes, image_root)
    return vqa.read_vqa(settings)
