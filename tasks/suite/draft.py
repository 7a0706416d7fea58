"""Writes a first suite as commented YAML: for a file of answers, or for the drawn demo benchmark.

Which column has which role is guessed in `tasks.suite.column_roles`; the questions to a person are
in `flows.init_command`.
"""

import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args, get_type_hints

from judgelake.tasks.errors import SuiteError, nearest
from judgelake.tasks.judging.protocols import PROTOCOLS
from judgelake.tasks.metrics.registry import METRICS
from judgelake.tasks.suite.column_roles import (
    N_ROWS,
    YES_NO,
    Row,
    TakenColumn,
    find_roles,
    find_separator,
    list_texts,
    read_rows,
)

SCHEMA_FILE = "judgelake.schema.json"
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""The comment by which editors find the schema beside the suite."""
_SCALES = ((0, 1), (1, 3), (1, 5), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100))
"""Usual rating scales; the first one that contains all ratings is taken."""
# characters that make a path a pattern or a variable in a suite
_GLOB = re.compile(r"[*?\[\]{}$]")
_COLUMNS = ("item_id", "prompt", "references", "images", "answer", "model")


class Wishes(NamedTuple):
    """What the user wants in the suite; None: not given."""

    answers: Path | None = None
    protocol: str | None = None
    name: str | None = None
    model: str | None = None


def draft_suite(file: Path, wishes: Wishes) -> str:
    """The text of a suite that will be written to `file`; raises SuiteError where it cannot be
    made.
    """
    if wishes.answers is None:
        return _write_demo(wishes)
    if _GLOB.search(str(wishes.answers)):
        raise SuiteError(
            f"{wishes.answers}: the path holds one of * ? [ ] {{ }} $, which mean something in a "
            "suite; expected a path without; rename the file or write the suite by hand"
        )
    rows = read_rows(wishes.answers)
    roles = find_roles(rows)
    for role in ("answer", "prompt"):
        if role not in roles:
            raise SuiteError(
                f"{wishes.answers}: no column looks like the {role}, of {', '.join(rows[0])}; "
                f"expected one; name it {role!r}"
            )
    return _write_suite(file, wishes, rows, roles)


def _write_demo(wishes: Wishes) -> str:
    name = _make_slug(wishes.name or "demo")
    lines = [
        "# Written by `judgelake init`. The benchmark is drawn by the program, so that this runs",
        "# without any data; `judgelake init --answers FILE` writes a suite for answers of yours.",
        f"name: {name}",
        "benchmarks:",
        "  demo: {source: demo, seed: 7, scenes: 40}",
        "metrics: [vqa_accuracy, exact_match]",
        *_write_judge(wishes, with_references=True, with_images=True),
        "report: {resamples: 2000, seed: 7}",
    ]
    return SCHEMA_LINE + "\n".join(lines) + "\n"


def _write_suite(
    file: Path, wishes: Wishes, rows: Sequence[Row], roles: Mapping[str, TakenColumn]
) -> str:
    answers = Path(str(wishes.answers))
    name = _make_slug(wishes.name or answers.name.partition(".")[0])
    separator = find_separator(answers)
    folder = os.path.relpath(answers.parent, file.parent)
    shown = {role: roles[role] for role in _COLUMNS if role in roles}
    images_lie_there = "images" in roles and _has_images(answers.parent, rows, roles["images"])
    if not images_lie_there:
        shown.pop("images", None)
    unused = [
        column
        for column in rows[0]
        if column
        not in {taken.column for role, taken in roles.items() if role in (*shown, "rating")}
    ]
    n_looked = f"its first {N_ROWS:,} rows" if len(rows) == N_ROWS else f"its {len(rows)} rows"
    lines = [
        f"# Written by `judgelake init` from {_quote(answers.name)} after a look at {n_looked}.",
        "# Each column says why it was taken: correct what is wrong, then `judgelake plan`.",
        f"name: {name}",
        *([f"images: {_quote(folder)}  # the images lie beside the answers"] * images_lie_there),
        "benchmarks:",
        f"  {name}:",
        "    source: table",
        f"    file: {_quote((Path(folder) / answers.name).as_posix())}",
        *([f"    separator: {json.dumps(separator)}"] if separator else []),
        "    task: vqa  # or caption, document, referring, instruction",
        "    columns:",
        *([] if "item_id" in shown else [_write_id_of_prompt(roles["prompt"])]),
        *(
            f"      {role}: {_write_value(role, taken, rows)}  # {taken.reason}"
            for role, taken in shown.items()
        ),
        *_write_cells(rows, roles),
        *_write_ratings(rows, roles),
        *([f"    # not used: {', '.join(map(_quote, unused))}"] if unused else []),
        *(["metrics: [exact_match, vqa_accuracy]"] if "references" in roles else []),
        *_write_judge(wishes, "references" in roles, images_lie_there),
        "report: {resamples: 2000, seed: 7}",
    ]
    return SCHEMA_LINE + "\n".join(lines) + "\n"


def _write_id_of_prompt(prompt: TakenColumn) -> str:
    return f"      item_id: {_quote(prompt.column)}  # no column looks like an id: the question is"


def _write_value(role: str, column: TakenColumn, rows: Sequence[Row]) -> str:
    """A column as YAML; one with several references in most cells is split at their separator."""
    texts = list_texts(rows, column.column) if role == "references" else []
    for mark in ("|", ";"):
        if sum(mark in text for text in texts) * 2 > len(texts) and not _hold_json(texts):
            return f"{{from: {_quote(column.column)}, split: {_quote(mark)}}}"
    return f"{{from: {_quote(column.column)}}}" if role == "model" else _quote(column.column)


def _write_cells(rows: Sequence[Row], roles: Mapping[str, TakenColumn]) -> list[str]:
    """The key `json`, where the cells of the references are JSON lists as text."""
    column = roles["references"].column if "references" in roles else None
    if column is None or not all(isinstance(row[column], str | None) for row in rows):
        return []
    lists = _hold_json(list_texts(rows, column))
    return [f"    json: [{_quote(column)}]  # its cells hold lists as JSON"] if lists else []


def _hold_json(texts: Sequence[str]) -> bool:
    try:
        return bool(texts) and all(isinstance(json.loads(text), list) for text in texts)
    except ValueError:
        return False


def _write_ratings(rows: Sequence[Row], roles: Mapping[str, TakenColumn]) -> list[str]:
    if "rating" not in roles:
        return ["    # no column looks like a rating: judges are then compared with no person"]
    column, reason = roles["rating"]
    texts = sorted(set(list_texts(rows, column)))
    if all(text.lower() in YES_NO for text in texts):
        pairs = ", ".join(f"{_quote(text)}: {YES_NO[text.lower()]}" for text in texts)
        scale, values = (0, 1), [f"      values: {{{pairs}}}"]
    else:
        numbers = [float(text) for text in texts]
        fitting = [
            scale_ends
            for scale_ends in _SCALES
            if scale_ends[0] <= min(numbers) and max(numbers) <= scale_ends[1]
        ]
        widest = (int(min(numbers) // 1), int(max(numbers) // 1) + 1)
        scale, values = (fitting or [widest])[0], []
    rater = roles.get("annotator")
    named = f"{_quote(rater.column)}  # {rater.reason}" if rater else "{constant: people}"
    return [
        "    human_ratings:",
        f"      rating: {_quote(column)}  # {reason}",
        f"      annotator: {named}",
        f"      scale: [{scale[0]}, {scale[1]}]  # the ends that people could choose: check them",
        *values,
    ]


def _write_judge(wishes: Wishes, with_references: bool, with_images: bool) -> list[str]:
    protocol = wishes.protocol or ("lave" if with_references else "harmonic")
    if protocol not in PROTOCOLS:
        raise SuiteError(f"--protocol {protocol}: there is none; {nearest(protocol, PROTOCOLS)}")
    options = PROTOCOLS[protocol].options
    needed = [
        field.name
        for field in dataclasses.fields(options)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    if needed:
        raise SuiteError(
            f"--protocol {protocol}: needs {', '.join(needed)}, which name other judges; expected "
            "a protocol that stands alone; begin with one, then add this judge by hand"
        )
    keys = {"protocol": protocol, "backend": "openai" if wishes.model else "standin"}
    if wishes.model:
        keys["model"] = _quote(wishes.model)
    if not with_images and "absent" in get_args(get_type_hints(options).get("image")):
        keys["image"] = "absent"
    alias = protocol.replace("_", "-")
    alias += "-judge" if alias in METRICS else ""
    why = (
        "asked with the key in OPENAI_API_KEY"
        if wishes.model
        else "made-up verdicts by rules, free: set backend: openai and a model for real ones"
    )
    return [
        "judges:",
        f"  # {why}",
        f"  {alias}: {{{', '.join(f'{key}: {value}' for key, value in keys.items())}}}",
    ]


def _has_images(folder: Path, rows: Sequence[Row], images: TakenColumn) -> bool:
    return all((folder / text).is_file() for text in list_texts(rows, images.column)[:20])


def _make_slug(text: str) -> str:
    # what a suite's name may hold
    slug = re.sub(r"[^a-z0-9_.-]+", "-", text.lower()).strip("-._")
    return slug or "suite"


def _quote(text: str) -> str:
    """Text as YAML, without quotation marks where it needs none."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*", text)
    words = ("yes", "no", "true", "false", "on", "off", "null", "y", "n")
    return text if plain and text.lower() not in words else json.dumps(text, ensure_ascii=False)
