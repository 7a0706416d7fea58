"""The ready suites that ship with the package (`infra/suites` in a checkout): their names, what
they are about, their text.
"""

from collections.abc import Iterator
from importlib import resources
from typing import NamedTuple

from judgelake.tasks.errors import SuiteError, nearest

_PACKAGE, _ENDING = "judgelake.suites", ".yaml"


class ExampleSuite(NamedTuple):
    """A ready suite: `says` is the comment at its head, in one line."""

    name: str
    says: str


def list_examples() -> list[ExampleSuite]:
    """The ready suites by name."""
    return [ExampleSuite(name, _read_head(text)) for name, text in sorted(_read_all())]


def read_example(name: str) -> str:
    """The text of a ready suite; raises SuiteError that names the nearest."""
    texts = dict(_read_all())
    if name not in texts:
        raise SuiteError(f"example {name!r}: there is no such suite; {nearest(name, texts)}")
    return texts[name]


def _read_all() -> Iterator[tuple[str, str]]:
    for file in resources.files(_PACKAGE).iterdir():
        if file.name.endswith(_ENDING):
            yield file.name.removesuffix(_ENDING), file.read_text(encoding="utf-8")


def _read_head(text: str) -> str:
    head = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        head.append(line.removeprefix("#").strip())
    return " ".join(head)
