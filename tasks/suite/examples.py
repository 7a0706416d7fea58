"""The example suites that ship with the package (`infra/suites` in a checkout): names, summaries
and texts.
"""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from judgelake.tasks.errors import SuiteError, nearest

_PACKAGE, _ENDING = "judgelake.suites", ".yaml"
_FOLDERS = ("", "papers/")
"""Where suites lie: a name begins with its folder."""


class ExampleSuite(NamedTuple):
    """An example suite; `says` is the first paragraph of the comment at its head."""

    name: str
    says: str


def list_examples() -> list[ExampleSuite]:
    """The example suites, sorted by name."""
    return [ExampleSuite(name, _read_head(text)) for name, text in sorted(_read_all())]


def read_example(name: str) -> str:
    """The text of an example suite; raises a SuiteError that names the most similar example."""
    texts = dict(_read_all())
    if name not in texts:
        raise SuiteError(f"example {name!r}: there is no such suite; {nearest(name, texts)}")
    return texts[name]


def find_suite(name: str) -> Path:
    """The suite file that a command names: a file, or else an example by its name (`demo`)."""
    if Path(name).exists() or name not in dict(_read_all()):
        return Path(name)
    return Path(str(resources.files(_PACKAGE).joinpath(f"{name}{_ENDING}")))


def _read_all() -> Iterator[tuple[str, str]]:
    for folder in _FOLDERS:
        for file in resources.files(_PACKAGE).joinpath(folder).iterdir():
            if file.name.endswith(_ENDING):
                name = f"{folder}{file.name.removesuffix(_ENDING)}"
                yield name, file.read_text(encoding="utf-8")


def _read_head(text: str) -> str:
    """The comment at the head, up to its end or an empty line of it."""
    head: list[str] = []
    for line in text.splitlines():
        if not line.startswith("# "):
            break
        head.append(line.removeprefix("#").strip())
    return " ".join(head)
