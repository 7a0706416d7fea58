"""The JSON Schema of a suite, for editors and other programs: made from the settings themselves.

It lists the keys and the values of each; rules that concern several keys are checked when a suite
is read (`tasks.suite.suite`).
"""

import dataclasses
import inspect
import re
from collections.abc import Collection, Mapping
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from judgelake.tasks.answering.answerer import AnswerOptions
from judgelake.tasks.backends.endpoint import OF_THE_JUDGE
from judgelake.tasks.backends.registry import BACKENDS
from judgelake.tasks.judging.protocols import PROTOCOLS
from judgelake.tasks.metrics.registry import KINDS, METRICS
from judgelake.tasks.settings import NAME, TEXT_SCHEMA
from judgelake.tasks.sources.registry import SOURCES
from judgelake.tasks.sources.sampling import SampleSettings
from judgelake.tasks.suite.collection import CollectionOptions
from judgelake.tasks.suite.suite import LimitSettings, ReportSettings
from judgelake.tasks.suite.training import TrainingSettings

Schema = dict[str, Any]
_REFERENCE = "#/$defs/{model}"
_NAME = {"type": "string", "pattern": f"^{NAME.pattern}$"}
_NAMES = {"type": "array", "items": TEXT_SCHEMA}
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z`])")
"""Where the next sentence begins; a key's name between backticks may begin one."""


class _Generator(GenerateJsonSchema):
    """Describes text as suites write it: YAML's numbers and truth values are text, too."""

    def str_schema(self, _schema: Any) -> Schema:
        return dict(TEXT_SCHEMA)


def make_schema() -> Schema:
    """The schema of a suite file, JSON Schema draft 2020-12."""
    definitions: Schema = {}
    properties = {
        "name": _NAME | {"description": "What the suite is called, in reports and records."},
        "notice": TEXT_SCHEMA | {"description": "A text at the head of every report."},
        "images": TEXT_SCHEMA
        | {"description": "The folder (or s3://bucket/prefix) of relative image paths."},
        "benchmarks": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": _NAME,
            "additionalProperties": _union("source", _list_sources(definitions)),
            "description": "Name -> where items, answers and ratings of a benchmark come from.",
        },
        "metrics": {
            "type": "array",
            "items": {
                "anyOf": [{"enum": sorted(METRICS)}, _union("metric", _list_metrics(definitions))]
            },
            "description": "Reference metrics: a name, or a mapping with options.",
        },
        "judges": {
            "type": "object",
            "propertyNames": _NAME,
            "additionalProperties": _union("protocol", _list_judges(definitions)),
            "description": "Name -> a judge: its protocol, its backend and options of both.",
        },
        "report": _describe_class(ReportSettings, definitions),
        "limits": _describe_class(LimitSettings, definitions),
        "training": _describe_class(TrainingSettings, definitions),
        "collection": _describe_asked(CollectionOptions, definitions),
        "answerers": {
            "type": "object",
            "propertyNames": _NAME,
            "additionalProperties": _describe_asked(AnswerOptions, definitions),
            "description": "Name -> a model that answers the items, and how it is asked.",
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A judgelake suite",
        **_close(properties, ["name", "benchmarks"]),
        "$defs": dict(sorted(definitions.items())),
    }


def _describe_asked(options: type[Any], definitions: Schema) -> Schema:
    """A generator's options, and the settings of the endpoint that is asked, in one mapping."""
    described = _describe_class(options, definitions)
    own: Schema = {"backend": {"enum": sorted(BACKENDS)}}
    for kind in BACKENDS.values():
        own |= _describe_class(kind.settings, definitions)["properties"]
    closed = _close(described["properties"] | own, ["backend", *described["required"]])
    return closed | {
        "allOf": [{"$ref": "#/$defs/Backend"}],
        "description": described["description"],
    }


def _list_sources(definitions: Schema) -> dict[str, Schema]:
    strict: Schema = {
        "type": "boolean",
        "default": False,
        "description": "Stop an ingest that would leave out any row.",
    }
    sample = _describe_class(SampleSettings, definitions) | {"additionalProperties": False}
    shared = {"strict": strict, "sample": sample}
    return {
        name: _tagged("source", [name], _describe_class(source.settings, definitions), **shared)
        for name, source in SOURCES.items()
    }


def _list_metrics(definitions: Schema) -> dict[str, Schema]:
    shared: Schema = {
        "alias": _NAME | {"description": "What the metric is called in this suite."},
        "benchmarks": _NAMES | {"description": "The benchmarks that it scores; by default all."},
    }
    branches = {}
    for kind, metric in KINDS.items():
        names = sorted(name for name, (own, _) in METRICS.items() if own == kind)
        described = _describe_class(metric.options, definitions)
        branches[kind] = _tagged("metric", names, described, **shared)
    return branches


def _list_judges(definitions: Schema) -> dict[str, Schema]:
    """Protocol -> its options, the endpoint's settings and its further endpoints in one mapping."""
    backends = {
        name: _describe_class(kind.settings, definitions) for name, kind in BACKENDS.items()
    }
    prompts: Schema = {"enum": ["own", "paper"], "default": "own"}
    prompts["description"] = "Whose words it asks in; `paper` needs the authors' in `templates`."
    shared: Schema = {"backend": {"enum": sorted(backends)}}
    for described in backends.values():
        shared |= described["properties"]
    definitions["Backend"] = _union("backend", _list_backends(backends, set(shared)))
    own = {key: part for key, part in shared.items() if key not in OF_THE_JUDGE}
    definitions["Endpoint"] = {
        **_close(own, ["backend"]),
        "allOf": [{"$ref": "#/$defs/Backend"}],
        "description": "Where a further model of the judge is asked.",
    }
    branches = {}
    for name, protocol in PROTOCOLS.items():
        options = _describe_class(protocol.options, definitions)
        if protocol.joins is not None:
            own_benchmarks = shared["benchmarks"]
            branches[name] = _tagged("protocol", [name], options, benchmarks=own_benchmarks)
            continue
        others = {key: {"$ref": "#/$defs/Endpoint"} for key in protocol.endpoints}
        judge = _tagged("protocol", [name], options, prompts=prompts, **shared, **others)
        judge["required"] = sorted({*judge["required"], "backend"})
        branches[name] = judge | {"allOf": [{"$ref": "#/$defs/Backend"}]}
    return branches


def _list_backends(backends: Mapping[str, Schema], keys: Collection[str]) -> dict[str, Schema]:
    """Backend -> the keys that it requires, and those of `keys` that it does not take."""
    branches = {}
    for name, described in backends.items():
        unused = set(keys) - set(described["properties"]) - {"backend"}
        properties: Schema = {"backend": {"const": name}} | dict.fromkeys(sorted(unused), False)
        required = {"backend", *(() if name == "standin" else ("model",))}
        required |= {"cassette"} if "cassette" in described["properties"] else set()
        branches[name] = {"properties": properties, "required": sorted(required)}
    return branches


def _describe_class(cls: type[Any], definitions: Schema) -> Schema:
    """The schema of a settings class; schemas of nested classes go into `definitions`."""
    made = TypeAdapter(cls).json_schema(
        ref_template=_REFERENCE, schema_generator=_Generator, mode="validation"
    )
    nested = {part.__name__: part for part in _list_nested(cls)}
    for name, inner in made.pop("$defs", {}).items():
        definitions[name] = _explain_keys(inner, nested.get(name))
    return _explain_keys(made, cls) | {"required": made.get("required", [])}


def _list_nested(hint: Any) -> Collection[type[Any]]:
    """All settings classes within a type, at any depth."""
    classes: dict[type[Any], None] = {}
    waiting = [hint]
    while waiting:
        part = waiting.pop()
        waiting.extend(get_args(part))
        if isinstance(part, type) and dataclasses.is_dataclass(part) and part not in classes:
            classes[part] = None
            waiting.extend(get_type_hints(part).values())
    return classes


def _explain_keys(schema: Schema, cls: type[Any] | None) -> Schema:
    """The schema with a description for each key: the sentences of the class's docstring that name
    the key between backticks.
    """
    if cls is None or "properties" not in schema:
        return schema
    texts = [
        " ".join(inspect.cleandoc(part.__doc__).split())
        for part in reversed(cls.__mro__)
        if dataclasses.is_dataclass(part) and part.__doc__
    ]
    sentences = [sentence for text in texts for sentence in _SENTENCE.split(text)]
    properties = {}
    for key, part in schema["properties"].items():
        # the docstring's sentences that name the key between backticks
        about = [sentence for sentence in sentences if re.search(rf"`{key}\b", sentence)]
        description = " ".join(dict.fromkeys(about))
        properties[key] = ({"description": description} if about else {}) | part
    return {**schema, "properties": properties, "description": texts[-1]}


def _tagged(tag: str, names: list[str], described: Schema, **shared: Schema) -> Schema:
    """One branch of a union: a settings class with its tag and the keys beside its own."""
    kinds: Schema = {"const": names[0]} if len(names) == 1 else {"enum": names}
    properties = {tag: kinds, **described["properties"], **shared}
    branch = _close(properties, [tag, *described["required"]])
    return {"title": names[0], "description": described.get("description", ""), **branch}


def _close(properties: Mapping[str, Any], required: Collection[str]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _union(tag: str, branches: Mapping[str, Schema]) -> Schema:
    """A schema of several kinds of mapping; the value of the key `tag` says which kind it is."""
    return {
        "type": "object",
        "required": [tag],
        "discriminator": {"propertyName": tag},
        "oneOf": list(branches.values()),
    }
