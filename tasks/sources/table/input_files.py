"""The files of some settings of source `table`: a path or a glob, whose `{name}` parts are columns
beside those of the file. How they are read is `tasks.sources.readers.files`.
"""

import glob
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.readers.files import FileSettings

# The variable parts of a path: `{name}`, which becomes a column, and `*`.
_PART = re.compile(r"\{(\w+)\}|(\*)")


class InputFile(NamedTuple):
    """A file, what it is called in the lake, and the columns that its path gives."""

    path: Path
    name: str
    columns: Mapping[str, str]


def find_files(settings: FileSettings, newest: str | None = None) -> list[InputFile]:
    """The file of some settings, or those that its glob finds, sorted by path; `{name}` parts of
    the path are columns. Of files that differ in the part `newest` alone only the last.
    """
    pattern = settings.file or Path()
    text = str(pattern)
    fixed = re.split(r"[{*]", text, maxsplit=1)[0]
    if fixed == text:
        if not pattern.is_file():
            raise SourceError(
                f"{pattern}: there is no such file; expected a data file; check the path in "
                f"the suite"
            )
        return [InputFile(pattern, pattern.name, {})]
    root = Path(fixed).parent if not fixed.endswith("/") else Path(fixed)
    candidates = [
        file
        for file in sorted(root.glob(_as_glob(str(pattern.relative_to(root)))))
        if file.is_file()
    ]
    regex = re.compile(_as_regex(text))
    files = [
        InputFile(file, str(file.relative_to(root)), match.groupdict())
        for file in candidates
        if (match := regex.fullmatch(str(file)))
    ]
    if not files:
        raise SourceError(
            f"{pattern}: no file matches; expected at least one; check the path in the suite"
        )
    return files if newest is None else _keep_newest(files, newest)


def _keep_newest(files: list[InputFile], name: str) -> list[InputFile]:
    """Of files whose paths differ in the part `name` alone the one where it sorts last; in the
    order of `files`.
    """
    last: dict[tuple[str, ...], InputFile] = {}
    for file in files:
        others = tuple(value for key, value in file.columns.items() if key != name)
        if others not in last or file.columns[name] > last[others].columns[name]:
            last[others] = file
    return [file for file in files if file in last.values()]


def _as_glob(text: str) -> str:
    return "".join(
        "*" if _PART.fullmatch(part) else glob.escape(part)
        for part in re.split(r"(\{\w+\}|\*)", text)
    )


def _as_regex(text: str) -> str:
    seen: set[str] = set()

    def give(part: str) -> str:
        if part == "*":
            return "[^/]*"
        if not _PART.fullmatch(part):
            return re.escape(part)
        name = part[1:-1]
        if name in seen:
            return f"(?P={name})"
        seen.add(name)
        return f"(?P<{name}>[^/]+)"

    return "".join(map(give, re.split(r"(\{\w+\}|\*)", text)))


def refuse_twice(
    file: InputFile, settings: FileSettings, columns: Iterable[str], wanted: Iterable[str]
) -> None:
    """Raises SourceError where a part of the path that is read is a column of the file too."""
    both = {*file.columns}.intersection(wanted).intersection(columns)
    if both:
        name = min(both)
        raise SourceError(
            f"{file.path}: has a column {name!r}, and its path a part {{{name}}} "
            f"({file.columns[name]!r}) by `file: {settings.file}`; expected one of the two; rename "
            f"the part, such as {{path_{name}}}: then {name!r} is the column, and "
            f"'path_{name}' the part"
        )
