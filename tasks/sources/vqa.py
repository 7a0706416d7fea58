"""Source `vqa`: VQAv2 / OK-VQA questions, annotations and result files, and the combined form with answers beside the question.

Official formats: visualqa.org/download (questions, annotations) and visualqa.org/evaluation (results). The combined form is a list of
`{question_id, question, answer[], image, dataset}`.
"""

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tasks.errors import SourceError
from tasks.sources.frames import ANSWERS, CAPTIONS, ITEMS, Rejected, SourceFrames
from tasks.sources.json_files import read_json, read_records

VERSION = 1


@dataclass(frozen=True)
class VqaSettings:
    """`answers` is a glob whose `{model}` names the model; `questions` may be left out where `references` holds the questions."""

    references: Path
    answers: Path
    questions: Path | None = None
    captions: Path | None = None


class _Record(NamedTuple):
    """A record with its question's id and its place in the file."""

    question_id: str
    locator: str
    content: Mapping[str, Any]


_NOTHING = _Record("", "", {})


class _Rejects(list[Rejected]):
    """Records that cannot become a row, with the reasons."""

    def add(self, table: str, place: tuple[str, str], column: str, value: object, reason: str) -> None:
        file, locator = place
        shown = None if value is None else str(value)[:200]
        remedy = "correct the record in the file and ingest again"
        self.append(Rejected(table, file, locator, column, shown, reason, remedy))


def source_files(settings: VqaSettings) -> list[Path]:
    """All files this source reads; raises SourceError where the answers glob finds none."""
    named = [file for file in (settings.questions, settings.references, settings.captions) if file is not None]
    for file in named:
        if not file.is_file():
            raise SourceError(
                f"{file}: there is no such file; expected VQA questions or annotations; check the path in the suite"
            )
    return [*named, *find_answer_files(settings.answers).values()]


def find_answer_files(pattern: Path) -> dict[str, Path]:
    """Model name -> result file for a glob such as `results/{model}.json`."""
    text = str(pattern)
    if text.count("{model}") != 1:
        raise SourceError(
            f"{pattern}: names no model; expected one '{{model}}' in the answers' path; write it where the name stands"
        )
    regex = re.compile("".join({"{model}": "(.+)", "*": "[^/]*"}.get(part, re.escape(part)) for part in _split_pattern(text)))
    root = Path(text.split("{model}")[0].split("*")[0]).parent if not text.startswith("{model}") else Path()
    while not root.is_dir() and root != root.parent:
        root = root.parent
    relative = _split_pattern(str(pattern.relative_to(root)))
    files = sorted(root.glob("".join("*" if part in ("{model}", "*") else glob.escape(part) for part in relative)))
    found: dict[str, Path] = {}
    for file in files:
        if match := regex.fullmatch(str(file)):
            if match[1] in found:
                raise SourceError(
                    f"{file}: is a second file of the model {match[1]!r} beside {found[match[1]].name}; expected one a model; "
                    "make the answers' path in the suite narrower"
                )
            found[match[1]] = file
    if not found:
        raise SourceError(f"{pattern}: no file matches; expected one result file a model; check the path in the suite")
    return found


def _split_pattern(text: str) -> list[str]:
    return re.split(r"(\{model\}|\*)", text)


def read_vqa(settings: VqaSettings) -> SourceFrames:
    """Items with their references, and every model's answers; records that make no row come back as rejected."""
    rejects = _Rejects()
    items = _read_items(settings, rejects)
    files = find_answer_files(settings.answers).items()
    answers = [row for model, file in files for row in _read_results(model, file, _name(settings.answers, file), rejects)]
    return SourceFrames(
        items=pl.DataFrame(items, schema=ITEMS, orient="row"),
        answers=pl.DataFrame(answers, schema=ANSWERS, orient="row"),
        captions=pl.DataFrame(_read_captions(settings, items, rejects), schema=CAPTIONS, orient="row"),
        rejected=tuple(rejects),
    )


def _name(pattern: Path, file: Path) -> str:
    """The file's path from the part that names its model on: `{model}/answers.json` gives every model a file of the same name."""
    depth = next(number for number, part in enumerate(reversed(pattern.parts), 1) if "{model}" in part)
    return "/".join(file.parts[-depth:])


def _read_items(settings: VqaSettings, rejects: _Rejects) -> list[tuple[object, ...]]:
    annotations = _annotations(settings.references, rejects)
    source = settings.questions or settings.references
    naming = _image_naming(settings.questions) if settings.questions else ""
    asked = read_records(settings.questions, "questions") if settings.questions else None
    kept = [record for record in annotations.values() if record]
    records = kept if asked is None else _identified("items", source.name, asked, rejects)
    rows: list[tuple[object, ...]] = []
    for record in records:
        found = annotations.get(record.question_id, _NOTHING)
        if found is None:
            continue  # told by _annotations
        question = record.content.get("question", found.content.get("question"))
        if not isinstance(question, str) or not question.strip():
            reason = "the question is missing or not text"
            rejects.add("items", (source.name, record.locator), "question", question, reason)
            continue
        references = _references(found.content, (settings.references.name, found.locator), rejects)
        image = str(found.content.get("image") or _image_name(naming, record.content))
        images = [{"uri": image, "sha256": None}] if image else []
        category, cluster = found.content.get("question_type"), image or f"item:{record.question_id}"
        place = (source.name, record.locator)
        rows.append((record.question_id, "vqa", question, references, images, [], _text(category), None, cluster, *place))
    return rows


def _annotations(file: Path, rejects: _Rejects) -> dict[str, _Record | None]:
    """Annotations by question id; those of one id are all told where they differ, and None stands in their place."""
    found: dict[str, list[_Record]] = {}
    for record in _identified("items", file.name, read_records(file, "annotations", "questions"), rejects):
        found.setdefault(record.question_id, []).append(record)
    differ = {key for key, records in found.items() if any(one.content != records[0].content for one in records)}
    for key in sorted(differ):
        for record in found[key]:
            rejects.add("items", (file.name, record.locator), "question_id", key, "records of the same question differ")
    return {key: None if key in differ else records[0] for key, records in found.items()}


def _identified(table: str, file: str, records: Sequence[Any], rejects: _Rejects) -> Iterator[_Record]:
    """The records that have a question id, a whole number or text; the others are told."""
    for number, record in enumerate(records):
        locator = f"record {number}"
        question_id = record.get("question_id") if isinstance(record, dict) else record
        usable = isinstance(question_id, int | str) and not isinstance(question_id, bool) and question_id != ""
        if isinstance(record, dict) and usable:
            yield _Record(str(question_id), locator, record)
            continue
        reason = "the question_id is missing or neither a whole number nor text"
        rejects.add(table, (file, locator), "question_id", question_id, reason)


def _references(annotation: Mapping[str, Any], place: tuple[str, str], rejects: _Rejects) -> list[str]:
    """The annotators' answers in the file's order, duplicates kept; an unusable one is told and left out."""
    given = annotation.get("answers", annotation.get("answer", []))
    texts = []
    for answer in given if isinstance(given, list) else [given]:
        text = answer.get("answer") if isinstance(answer, dict) else answer
        if isinstance(text, str):
            texts.append(text)
        else:
            rejects.add("items", place, "answers", text, "a reference answer is not text; the item goes on without it")
    return texts


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _image_naming(questions: Path) -> str:
    content = read_json(questions)
    subtype = content.get("data_subtype", "") if isinstance(content, dict) else ""
    return f"{subtype}/COCO_{subtype}_" if subtype and content.get("data_type") == "mscoco" else ""


def _image_name(naming: str, record: Mapping[str, Any]) -> str:
    """COCO's file name of an image id, as the VQA site lays images out."""
    image_id = record.get("image_id")
    if naming and isinstance(image_id, int):
        return f"{naming}{image_id:012d}.jpg"
    return "" if image_id is None else str(image_id)


def _read_results(model: str, file: Path, name: str, rejects: _Rejects) -> Iterator[tuple[object, ...]]:
    for record in _identified("answers", name, read_records(file, "annotations", "results"), rejects):
        answer = record.content.get("answer")
        if isinstance(answer, bool) or not isinstance(answer, str | int | float):
            rejects.add("answers", (name, record.locator), "answer", answer, "the answer is missing or not text")
            continue
        yield (record.question_id, f"{model}/short/0", model, "short", 0, str(answer), name, record.locator)


def _read_captions(settings: VqaSettings, items: list[tuple[object, ...]], rejects: _Rejects) -> list[tuple[object, ...]]:
    """COCO captions (`annotations: [{image_id, caption}]`) of the items' images, as the captioner `dataset`."""
    if settings.captions is None:
        return []
    by_id = {int(match[1]): str(row[8]) for row in items if (match := re.search(r"(\d+)(?:\.\w+)?$", str(row[8])))}
    rows: list[tuple[object, ...]] = []
    for number, record in enumerate(read_records(settings.captions, "annotations")):
        image_id = record.get("image_id") if isinstance(record, dict) else None
        image = by_id.get(image_id) if isinstance(image_id, int) else None
        if image is None:
            continue
        place, caption = (settings.captions.name, f"record {number}"), record.get("caption")
        if isinstance(caption, str):
            rows.append((image, "dataset", caption, *place))
        else:
            rejects.add("captions", place, "caption", caption, "the caption is missing or not text")
    return rows
