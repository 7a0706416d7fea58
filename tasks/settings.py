"""Reads YAML into pydantic dataclasses. Unknown keys and wrong values are refused with file, line
and the most similar valid name.

pydantic decides what is valid; this module reads the file and finds the line of an error. What a
suite contains is in `tasks.suite.suite`.
"""

import dataclasses
import functools
import json
import os
import re
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import pydantic
import pydantic.dataclasses
import yaml
from pydantic import AfterValidator, ConfigDict, Strict, TypeAdapter, ValidationInfo
from pydantic_core import PydanticCustomError, core_schema

from judgelake.tasks.errors import SuiteError, nearest

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
"""Names that become folders and partitions of the lake: `gpt-4o_v1.2`, but not `GPT 4`."""

T = TypeVar("T")
Keys = tuple[str | int, ...]
"""The path to a value below a node: keys, and numbers of list elements."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
"""`${NAME}` or `${NAME:-default}`."""
_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
_MOST_VALUES = 100_000
"""No suite has more values; a file with a few nested YAML aliases can expand to billions."""
_CONFIG = ConfigDict(extra="forbid", strict=True, defer_build=True)
"""Built on first use: a suite uses few of the seventy kinds of settings."""


@typing.dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen_settings(cls: type[T]) -> type[T]:
    """A frozen pydantic dataclass that takes no unknown key and converts no value silently."""
    made = pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)(cls)
    return typing.cast("type[T]", made)


def _resolve(path: Path, info: ValidationInfo) -> Path:
    return info.context / path.expanduser() if isinstance(info.context, Path) else path


SuitePath = Annotated[Path, Strict(False), AfterValidator(_resolve)]
"""A path that a suite writes relative to its own folder."""


TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}
"""JSON Schema of text: YAML's `5` and `true` are text where a suite expects text."""


_MERGE = "tag:yaml.org,2002:merge"


@dataclasses.dataclass(frozen=True)
class OneOrMany:
    """Marks a list that may be written without brackets where it has one element. An empty list is
    refused unless `takes_none`: it would say nothing.
    """

    takes_none: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Put a value that is not a list into one."""
        read = _listed if self.takes_none else _listed_some
        return core_schema.no_info_before_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """The element, or a list of it."""
        many = handler(schema)
        least = {} if self.takes_none else {"minItems": 1}
        return {"anyOf": [many["items"], many | least]}


def _listed(value: Any) -> Any:
    value = _with_tuples(value)
    return value if isinstance(value, tuple) else (value,)


def _listed_some(value: Any) -> Any:
    if value == []:
        raise PydanticCustomError(FORM, "an empty list says nothing; fill it in, or remove the key")
    return _listed(value)


def _with_tuples(value: Any) -> Any:
    """Lists as tuples: behind a validator, strict pydantic takes only tuples for tuples."""
    if isinstance(value, dict):
        return {key: _with_tuples(part) for key, part in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list | tuple) else value


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
    """Parse the text of a YAML file; raises SuiteError where it is empty, nested too deeply, or not
    YAML.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError:
        raise SuiteError(
            f"{file}: is nested too deeply; expected a suite; see infra/suites/demo.yaml"
        ) from None
    except yaml.YAMLError as error:
        raise SuiteError(_describe_yaml_error(file, error)) from None
    if node is None:
        raise SuiteError(f"{file}: is empty; expected a suite; see infra/suites/demo.yaml")
    _merge_keys(Place(file, node), set())
    return Place(file, node)


def _describe_yaml_error(file: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return f"{file}: is not YAML ({' '.join(str(error).split())}); correct the line named"
    what = " ".join(str(getattr(error, "problem", "")).split())
    return (
        f"{file}:{mark.line + 1}:{mark.column + 1}: is not YAML ({what}); correct the line named; "
        f"put a text that holds one of ? : {{ }} [ ] , # in quotes"
    )


def _merge_keys(place: Place, seen: set[int]) -> None:
    """Put the keys of `<<: *name`, and of a list of such names, into the mapping that says so: its
    own keys go before them, and earlier names before later ones.
    """
    node = place.node
    if id(node) in seen or not isinstance(node, yaml.CollectionNode):
        return
    seen.add(id(node))
    if not isinstance(node, yaml.MappingNode):
        for child in node.value:
            _merge_keys(Place(place.file, child), seen)
        return
    for _, value in node.value:
        _merge_keys(Place(place.file, value), seen)
    merged = [value for key, value in node.value if key.tag == _MERGE]
    node.value = [(key, value) for key, value in node.value if key.tag != _MERGE]
    for value in merged:
        for other in value.value if isinstance(value, yaml.SequenceNode) else [value]:
            if not isinstance(other, yaml.MappingNode):
                raise Place(place.file, other).fail(
                    "<<: takes over the keys of others; expected `<<: *name`, where `&name` stands "
                    "before keys with values"
                )
            names = {key.value for key, _ in node.value}
            node.value += [(key, kept) for key, kept in other.value if key.value not in names]


def entries(place: Place) -> dict[str, Place]:
    """The keys of a YAML mapping with their values' places."""
    if not isinstance(place.node, yaml.MappingNode):
        raise place.fail(
            "expected keys with values (`key: value`) here; indent them under this line"
        )
    values: dict[str, Place] = {}
    for key, value in place.node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise Place(place.file, key).fail(
                "found a list or keys where a name is expected; write `key: value`"
            )
        if key.value in values:
            raise Place(place.file, key).fail(f"the key {key.value!r} stands twice; remove one")
        values[key.value] = Place(place.file, value)
    return values


def key_place(place: Place, key: str) -> Place:
    """The place of a key itself, not of its value."""
    return Place(place.file, next(node for node, _ in place.node.value if node.value == key))


def sequence(place: Place, key: str) -> list[Place]:
    """The elements of a YAML list."""
    if not isinstance(place.node, yaml.SequenceNode):
        raise place.fail(_no_list(key))
    return [Place(place.file, node) for node in place.node.value]


def build(
    cls: type[T],
    place: Place,
    *,
    skip: Collection[str] = (),
    defaults: Mapping[str, object] = MappingProxyType({}),
) -> T:
    """Make the settings `cls` from a mapping. Keys in `skip` belong to other settings; `defaults`
    replace the class's own defaults.

    A ValueError that the class raises has to begin with `<key>: `.
    """
    entries(place)  # before pydantic: a class may take other forms than keys
    return typing.cast("T", _ValueReading(cls, place, "", frozenset(skip), defaults).read())


def read_value(hint: Any, place: Place, key: str) -> Any:
    """One YAML value as the type `hint`; `key` names it in messages."""
    return _ValueReading(hint, place, key).read()


def read_kind(place: Place, key: str, valid: Mapping[str, object]) -> str:
    """The value of `key` in a mapping: one of the names `valid`."""
    values = entries(place)
    if key not in values:
        raise place.fail(f"the key {key!r} is missing; expected one of {', '.join(sorted(valid))}")
    kind = expand(values[key])
    if kind not in valid:
        raise values[key].fail(f"{key}: {kind!r}; {nearest(kind, valid)}")
    return kind


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


def describe(hint: Any) -> str:
    """A type in words."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(str(value) for value in get_args(hint))
    if get_origin(hint) is tuple:
        return "a list"
    return _WORDS.get(hint, "a value")


@dataclasses.dataclass
class _ValueReading:
    """Reads one YAML value as the type `hint`.

    Each scalar is first given to pydantic as text, as it is written. Where pydantic refuses the
    text, it gets the value as YAML reads it (`5`, `true`). So the type alone decides what is text:
    a model may be called `5`, and an answer may be `Yes`.
    """

    hint: Any
    place: Place
    key: str
    skip: frozenset[str] = frozenset()
    defaults: Mapping[str, object] = dataclasses.field(default_factory=dict)
    taken: dict[Keys, object] = dataclasses.field(default_factory=dict)
    """Values that are given to pydantic as something else than their text."""
    n_values: int = 0

    def read(self) -> Any:
        """The value; raises SuiteError for the first error in the file."""
        while True:
            self.n_values = 0
            try:
                return _adapter(self.hint).validate_json(
                    json.dumps(self._data(self.place, ())), context=self.place.file.parent
                )
            except pydantic.ValidationError as error:
                errors = error.errors(include_url=False, include_input=False)
            if not self._take_otherwise(errors):
                raise min((self._explain(error) for error in errors), key=_standing)[-1] from None

    def _data(self, place: Place, keys: Keys) -> Any:
        """The value as plain data; scalars as the text that is written."""
        self.n_values += 1
        if self.n_values > _MOST_VALUES or len(keys) > 50:
            raise place.fail("too many values, or too deep; expected a suite; shorten it")
        if isinstance(place.node, yaml.MappingNode):
            given = {
                name: self._data(value, (*keys, name))
                for name, value in entries(place).items()
                if keys or name not in self.skip
            }
            return given if keys else {**self.defaults, **given}
        if isinstance(place.node, yaml.SequenceNode):
            return [
                self._data(part, (*keys, number))
                for number, part in enumerate(sequence(place, self.key))
            ]
        if keys in self.taken:
            return self.taken[keys]
        return None if place.node.tag == "tag:yaml.org,2002:null" else expand(place)

    def _take_otherwise(self, errors: Iterable[Any]) -> bool:
        """Whether a refused value can be given to pydantic in a form that was not tried yet."""
        others: dict[Keys, object] = {}
        for error in errors:
            place, keys = self._find(error["loc"])
            hint = _hint_at(self.hint, error["loc"])
            if isinstance(place.node, yaml.ScalarNode) and keys not in self.taken:
                if error["type"] in ("string_type", "path_type"):
                    others[keys] = expand(place)
                elif error["type"] in _NATIVE_TYPES and _is_allowed(hint, _native(place)):
                    others[keys] = _native(place)
        self.taken |= others
        return bool(others)

    def _find(self, loc: Keys) -> tuple[Place, Keys]:
        """The YAML value at pydantic's `loc`; parts of `loc` that name branches of a union are
        skipped.
        """
        place = self.place
        keys: Keys = ()
        for part in loc:
            inner = _children(place).get(part)
            if inner is not None and (keys or part not in self.skip):
                place, keys = inner, (*keys, part)
        return place, keys

    def _explain(self, error: Any) -> tuple[bool, Place, SuiteError]:
        """One error of pydantic as (whether a key is missing, its place, the error to raise)."""
        loc, kind = error["loc"], error["type"]
        place, keys = self._find(loc)
        key = next((part for part in reversed(keys) if isinstance(part, str)), self.key)
        hint = _hint_at(self.hint, loc)
        if kind == "unexpected_keyword_argument":
            parent, name = self._find(loc[:-1])[0], str(loc[-1])
            place, skip = key_place(parent, name), self.skip if len(loc) == 1 else ()
            known = get_type_hints(_hint_at(self.hint, loc[:-1]))
            names = [name for name in known if get_origin(known[name]) is not typing.ClassVar]
            return (
                False,
                place,
                place.fail(f"unknown key {name!r}; {nearest(name, [*names, *skip])}"),
            )
        if kind == "missing":
            wanted = f"the key {loc[-1]!r} is missing; expected {describe(hint)}"
            return True, place, place.fail(wanted)
        if kind == "value_error":
            what = str(error["ctx"]["error"])
            place = _children(place).get(what.partition(":")[0], place)
            return False, place, place.fail(what)
        if kind == FORM:
            return False, place, place.fail(f"{key}: {error['msg']}")
        return False, place, place.fail(_describe_wrong(kind, place, key, hint))


FORM = "form"
"""The type of the pydantic error that a class raises for a value in a form that it does not take.
"""


def _standing(explained: tuple[bool, Place, SuiteError]) -> tuple[bool, int]:
    return explained[0], explained[1].node.start_mark.index


@functools.cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint, config=None if dataclasses.is_dataclass(hint) else _CONFIG)


def _children(place: Place) -> Mapping[Any, Place]:
    if isinstance(place.node, yaml.MappingNode):
        return entries(place)
    if isinstance(place.node, yaml.SequenceNode):
        return dict(enumerate(sequence(place, "")))
    return {}


def _native(place: Place) -> object:
    """A scalar as YAML reads it: a number, a truth value or null, else its text."""
    try:
        value = yaml.SafeLoader("").construct_object(place.node)
    except (yaml.YAMLError, ValueError):  # an unknown tag, a date that does not exist
        return place.node.value
    return value if value is None or isinstance(value, int | float) else place.node.value


_NATIVE_TYPES = ("int_type", "float_type", "bool_type", "literal_error")
"""Errors of pydantic about a text where a number, a truth value or a choice is expected."""


def _is_allowed(hint: Any, value: object) -> bool:
    """Whether a choice has exactly this value: for Python and pydantic, 1 is true."""
    if get_origin(hint) is not Literal:
        return True
    return any(value == choice and type(value) is type(choice) for choice in get_args(hint))


def _hint_at(hint: Any, loc: Keys) -> Any:
    """The type at `loc` within a type."""
    for part in loc:
        if dataclasses.is_dataclass(hint):
            hint = get_type_hints(hint).get(str(part), hint)
        elif get_origin(hint) is tuple:
            hint = get_args(hint)[0]
        elif get_origin(hint) in (dict, Mapping):
            hint = get_args(hint)[1]
        hint = _without_null(hint)
    return hint


def _without_null(hint: Any) -> Any:
    kinds = [part for part in get_args(hint) if part is not types.NoneType]
    return kinds[0] if _is_union(hint) and len(kinds) == 1 else hint


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def _no_list(key: str) -> str:
    return f"{key}: expected a list; write it as [a, b] or as lines that begin with '- '"


def _describe_wrong(kind: str, place: Place, key: str, hint: Any) -> str:
    """What is wrong with a value of the wrong type, and what is expected."""
    is_scalar = isinstance(place.node, yaml.ScalarNode)
    written = repr(place.node.value) if is_scalar else "a list or keys"
    if kind in ("dataclass_type", "dict_type", "mapping_type"):
        return "expected keys with values (`key: value`) here; indent them under this line"
    if kind == "tuple_type":
        return _no_list(key)
    if _is_union(hint):
        kinds = [part for part in get_args(hint) if part is not types.NoneType]
        return f"{key}: {written}; expected {', or '.join(map(describe, kinds))}"
    if not is_scalar:
        return f"{key}: expected {describe(hint)}, found a list or keys"
    if get_origin(hint) is Literal:
        value = _native(place)
        return f"{key}: {value!r}; {nearest(str(value), map(str, get_args(hint)))}"
    return f"{key}: {written}; expected {describe(hint)}"
