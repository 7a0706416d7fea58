"""Prompts as text files: the project's own under `prompts/`, any of them replaced by a file of the
same name in the user's folder.

A file is a Jinja template; a line `[system]` or `[user]` begins a message of that role. What fields
a prompt has is its protocol's matter.
"""

import functools
import re
from collections.abc import Collection
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import SuiteError, nearest
from judgelake.tasks.file_cache import cache_files
from judgelake.tasks.types import Image, Message, Role

# a line `[system]`, `[user]` or `[assistant]` begins the message of that role
_ROLE = re.compile(r"^\[(system|user|assistant)\][ \t]*\n", re.MULTILINE)


class _Environment(SandboxedEnvironment):
    def getattr(self, obj: Any, attribute: str) -> Any:
        """A mapping's own field at once: the sandbox looks for an attribute first, which takes most
        of a prompt's time.
        """
        return (
            obj[attribute]
            if type(obj) is dict and attribute in obj
            else super().getattr(obj, attribute)
        )


_ENVIRONMENT = _Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def neutralise(text: str, markers: tuple[str, ...]) -> str:
    """Data without the prompt's own delimiters: wherever one of `markers` begins, in any case, a
    space follows its first character.
    """
    return _find_markers(markers).sub(lambda marker: f"{marker[0]} ", text)


@functools.cache
def _find_markers(markers: tuple[str, ...]) -> re.Pattern[str]:
    """Looks ahead, so that markers that overlap are all broken."""
    return re.compile(rf"(?=(?:{'|'.join(map(re.escape, markers))})).", re.IGNORECASE | re.DOTALL)


def render_prompt(
    name: str, folder: Path | None, fields: dict[str, object], images: tuple[Image, ...] = ()
) -> tuple[Message, ...]:
    """The messages of prompt `name`; images stand in its first user message. Raises SuiteError for
    a field that it does not have.
    """
    parts = _compile(name, folder)
    first = next((number for number, (role, _) in enumerate(parts) if role == "user"), None)
    try:
        texts = [part.render(fields).strip() for _, part in parts]
    except TemplateError as error:
        raise SuiteError(
            f"{_describe(name, folder)}: {error}; expected the fields "
            f"{', '.join(sorted(fields))}; mend it"
        ) from None
    return tuple(
        Message(role, text, images if number == first else ())
        for number, ((role, _), text) in enumerate(zip(parts, texts, strict=True))
    )


def digest_prompts(names: Collection[str], folder: Path | None) -> str:
    """16 hex digits that name the wording of prompts; raises SuiteError for a file of the folder
    that replaces none of them.
    """
    if folder is not None:
        for file in sorted(folder.glob("*.txt")):
            if file.stem not in names:
                raise SuiteError(
                    f"{file}: replaces no prompt of this judge; {nearest(file.stem, names)}; "
                    f"rename or remove it"
                )
    return digest_json([[name, read_prompt(name, folder)] for name in sorted(names)])[:16]


@cache_files
def read_prompt(name: str, folder: Path | None) -> str:
    """The text of a prompt's template; raises SuiteError where the user's folder or file cannot be
    read. `templates/answer_alone` is there for suites that have no such folder.
    """
    shipped = resources.files("judgelake.suites").joinpath(
        "templates", folder.name if folder else ""
    )
    if folder and folder.parent.name == "templates" and not folder.exists() and shipped.is_dir():
        folder = Path(str(shipped))
    if folder is not None and not folder.is_dir():
        raise SuiteError(
            f"{folder}: no such folder; expected one with prompt templates such as {name}.txt; "
            f"correct `templates`"
        )
    own = folder / f"{name}.txt" if folder is not None else None
    try:
        if own is not None and own.exists():
            return own.read_text(encoding="utf-8")
        return (
            resources.files("judgelake.tasks.judging.prompts")
            .joinpath(f"{name}.txt")
            .read_text(encoding="utf-8")
        )
    except (OSError, ValueError) as error:
        raise SuiteError(
            f"{own}: cannot be read ({error}); expected a text file in UTF-8"
        ) from None


def _find_folder(folder: Path) -> Path:
    """A folder of templates, or the one of its name that the package ships."""
    shipped = Path(str(resources.files("judgelake.suites"))) / "templates" / folder.name
    is_shipped = not folder.exists() and folder.parent.name == "templates" and shipped.is_dir()
    return shipped if is_shipped else folder


@cache_files
def _compile(name: str, folder: Path | None) -> tuple[tuple[Role, Template], ...]:
    """The messages of a template, parted before anything is filled in: no data can begin a
    message.
    """
    parts = _ROLE.split(read_prompt(name, folder))
    spoken = [("user", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    try:
        templates = [
            (_role(role), _ENVIRONMENT.from_string(text)) for role, text in spoken if text.strip()
        ]
    except TemplateError as error:
        raise SuiteError(
            f"{_describe(name, folder)}: {error}; expected a Jinja template; mend it"
        ) from None
    for _, template in templates:
        template.globals = dict(
            template.globals
        )  # a chain of mappings, which each rendering would go through key by key
    return tuple(templates)


def _describe(name: str, folder: Path | None) -> str:
    return f"{folder / name if folder else name}.txt"


def _role(name: str) -> Role:
    return "system" if name == "system" else "assistant" if name == "assistant" else "user"
