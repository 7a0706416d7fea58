"""YAML with line numbers into frozen dataclasses: unknown keys and wrong values are refused with
file, line and the nearest valid name.

What a suite contains is `tasks.suite.suite`; this module knows only dataclasses and types.
"""

import contextlib
import dataclasses
import os
import re
import types
import typing
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from judgelake.tasks.errors import SuiteError, nearest

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


T = TypeVar("T")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


@dataclasses.dataclass(frozen=True)
class Place:
    """A YAML node and the file it stands in, for messages."""

    file: Path
    node: yaml.Node

    def fail(self, what: str) -> SuiteError:
        """An error that names file and line."""
        return SuiteError(f"{self.file}:{self.node.start_mark.line + 1}: {what}")


def read_yaml(file: Path) -> Place:
    """Parse one YAML file; raises SuiteError where it is absent, empty or not YAML."""
    return parse_yaml(file, read_text(file))


def read_text(file: Path) -> str:
    """The text of a suite file; raises SuiteError where it is absent or not UTF-8."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SuiteError(
            f"{file}: cannot be read ({error.strerror}); expected a suite file; check the path"
        ) from None
    except UnicodeDecodeError as error:
        raise SuiteError(f"{file}: is not YAML ({error}); correct the line named") from None


def parse_yaml(file: Path, text: str) -> Place:
    """Parse the text of a YAML file; raises SuiteError where it is empty or not YAML."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise SuiteError(
            f"{file}: is not YAML ({' '.join(str(error).split())}); correct the line named"
        ) from None
    if node is None:
        raise SuiteError(f"{file}: is empty; expected a suite; see infra/suites/demo.yaml")
    return Place(file, node)


def entries(place: Place) -> dict[str, Place]:
    """The keys of a YAML mapping with their values' places."""
    if not isinstance(place.node, yaml.MappingNode):
        raise place.fail(
            "expected keys with values (`key: value`) here; indent them under this line"
        )
    found: dict[str, Place] = {}
    for key, value in place.node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise Place(place.file, key).fail(
                "a list or keys stand where a name is expected; write `key: value`"
            )
        if key.value in found:
            raise Place(place.file, key).fail(f"the key {key.value!r} stands twice; remove one")
        found[key.value] = Place(place.file, value)
    return found


def build(
    cls: type[T],
    place: Place,
    *,
    skip: Collection[str] = (),
    defaults: Mapping[str, object] = MappingProxyType({}),
) -> T:
    """Make the dataclass `cls` from a mapping; keys in `skip` are someone else's, `defaults` go
    before the class's own.

    A ValueError of the class begins with `<key>: `.
    """
    hints = get_type_hints(cls)
    fields = {
        field.name: field for field in dataclasses.fields(typing.cast("Any", cls)) if field.init
    }
    given, values = entries(place), dict(defaults)
    for key, value in given.items():
        if key in skip:
            continue
        if key not in fields:
            key_node = next(node for node, _ in place.node.value if node.value == key)
            raise Place(place.file, key_node).fail(
                f"unknown key {key!r}; {nearest(key, [*fields, *skip])}"
            )
        values[key] = convert(hints[key], value, key)
    for name, field in fields.items():
        if (
            name not in values
            and field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
        ):
            raise place.fail(f"the key {name!r} is missing; expected {describe(hints[name])}")
    try:
        return cls(**values)
    except ValueError as error:
        raise given.get(str(error).partition(":")[0], place).fail(str(error)) from None


def convert(hint: Any, place: Place, key: str) -> Any:
    """One YAML value as the type `hint`; a type with `from_yaml(place, key)` reads itself."""
    origin = get_origin(hint)
    if hasattr(hint, "from_yaml"):
        return hint.from_yaml(place, key)
    if origin in (Union, types.UnionType):
        return _convert_union(hint, place, key)
    if origin is tuple:
        part = get_args(hint)[0]
        alone = dataclasses.is_dataclass(part) and isinstance(
            place.node, yaml.MappingNode
        )  # one group of keys is a list of one
        return tuple(
            convert(part, item, key) for item in ([place] if alone else sequence(place, key))
        )
    if origin in (dict, Mapping, typing.cast("Any", Mapping)):
        return {
            name: convert(get_args(hint)[1], value, name) for name, value in entries(place).items()
        }
    if dataclasses.is_dataclass(hint):
        return build(typing.cast("type[Any]", hint), place)
    return _convert_scalar(hint, place, key)


def read_kind(place: Place, key: str, valid: Mapping[str, object]) -> str:
    """The value of `key` in a mapping: one of the names `valid`."""
    found = entries(place)
    if key not in found:
        raise place.fail(f"the key {key!r} is missing; expected one of {', '.join(sorted(valid))}")
    kind = expand(found[key])
    if kind not in valid:
        raise found[key].fail(f"{key}: {kind!r}; {nearest(kind, valid)}")
    return kind


def describe(hint: Any) -> str:
    """A type in words."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(str(value) for value in get_args(hint))
    if get_origin(hint) is tuple:
        return "a list"
    return _WORDS.get(hint, "a value")


def _convert_union(hint: Any, place: Place, key: str) -> Any:
    """The first of several kinds that the value is; nothing where `null` is one of them."""
    kinds = [part for part in get_args(hint) if part is not types.NoneType]
    if place.node.tag == "tag:yaml.org,2002:null" and len(kinds) < len(get_args(hint)):
        return None
    if len(kinds) == 1:
        return convert(kinds[0], place, key)
    for kind in kinds:
        with contextlib.suppress(SuiteError):
            return convert(kind, place, key)
    told = repr(place.node.value) if isinstance(place.node, yaml.ScalarNode) else "a list or keys"
    raise place.fail(f"{key}: {told}; expected {', or '.join(map(describe, kinds))}")


def sequence(place: Place, key: str) -> list[Place]:
    """The elements of a YAML list."""
    if not isinstance(place.node, yaml.SequenceNode):
        raise place.fail(
            f"{key}: expected a list; write it as [a, b] or as lines that begin with '- '"
        )
    return [Place(place.file, node) for node in place.node.value]


def _convert_scalar(hint: Any, place: Place, key: str) -> Any:
    if not isinstance(place.node, yaml.ScalarNode):
        raise place.fail(f"{key}: expected {describe(hint)}, found a list or keys")
    if hint in (str, Path):
        text = expand(place)
        return text if hint is str else place.file.parent / Path(text).expanduser()
    value = _construct(hint, place, key)
    if get_origin(hint) is Literal:
        if any(value == allowed and type(value) is type(allowed) for allowed in get_args(hint)):
            return value
        raise place.fail(f"{key}: {value!r}; {nearest(str(value), map(str, get_args(hint)))}")
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise place.fail(f"{key}: {place.node.value!r}; expected {describe(hint)}")
    return value


def _construct(hint: Any, place: Place, key: str) -> object:
    try:
        return yaml.SafeLoader("").construct_object(place.node)
    except (yaml.YAMLError, ValueError):  # an unknown tag, a date that does not exist
        raise place.fail(f"{key}: {place.node.value!r}; expected {describe(hint)}") from None


def expand(place: Place) -> str:
    """The text of a scalar with ${VARIABLE} and ${VARIABLE:-default} replaced from the
    environment.
    """
    if not isinstance(place.node, yaml.ScalarNode):
        raise place.fail("expected text, found a list or keys; write it on this line")

    def replace(match: re.Match[str]) -> str:
        value = os.environ.get(match[1], match[2])
        if value is None:
            raise place.fail(
                f"the environment variable {match[1]} is not set; set it or write "
                f"${{{match[1]}:-default}}"
            )
        return value

    return _VARIABLE.sub(replace, place.node.value)
