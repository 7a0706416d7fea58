"""What ingestion and planning must know of a kind of source. Which ones there are is
`tasks.sources.registry`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.sources.frames import SourceFrames


@dataclass(frozen=True)
class Source:
    """One kind of source, by its name in a suite. `version` rises when its reading changes, `files`
    are all it reads, `read` also gets the image root.
    """

    name: str
    settings: type[Any]
    version: int
    files: Callable[[Any], list[Path]]
    read: Callable[[Any, LakePath], SourceFrames]
