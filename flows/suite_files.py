"""The files that a suite's text names, found without reading the suite: a guess that takes no
import.
"""

import glob
import re
from collections.abc import Iterator
from pathlib import Path

# what may be the path of a file, or a pattern of paths, in a suite's YAML
_PATH = re.compile(r"[^\s\"',\[\]]*\w[^\s\"',\[\]]*")
# a named part of such a pattern
_PART = re.compile(r"\{\w+\}")


def list_named(folder: Path, text: str) -> Iterator[Path]:
    """The files and folders that a suite's text may name; `folder` is the suite's own."""
    for word in {*_PATH.findall(text)}:
        for name in glob.iglob(  # noqa: PTH207  # of absolute paths, too
            _PART.sub("*", word).strip("{}"), root_dir=folder
        ):
            yield folder / name
