"""Source `vqa`: VQAv2 / OK-VQA questions, annotations and result files, and the combined form with answers beside the question.

Official formats: visualqa.org/download (questions, annotations) and visualqa.org/evaluation (results). The combined form is a list of
`{question_id, question, answer[], image, dataset}`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


class _Rejects(list[Rejected]):
    """Records that cannot become a row, with the reasons."""

    def add(self, table: str, place: tuple[Path, str], column: str, value: object, reason: str) -> None:
        file, locator = place
        shown = None if value is None else str(value)[:200]
        remedy = "correct the record in the file and ingest again"
        self.append(Rejected(table, file.name, locator, column, shown, reason, remedy))


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
    literal = re.split(r"(\{model\}|\*)", text)
    regex = re.compile("".join({"{model}": "(.+)", "*": "[^/]*"}.get(part, re.escape(part)) for part in literal))
    root = Path(text.split("{model}")[0].split("*")[0]).parent if not text.startswith("{model}") else Path()
    while not root.is_dir() and root != root.parent:
        root = root.parent
    relative = str(pattern.relative_to(root)).replace("{model}", "*")
    found = {match[1]: file for file in sorted(root.glob(relative)) if (match := regex.fullmatch(str(file)))}
    if not found:
        raise SourceError(f"{pattern}: no file matches; expected one result file a model; check the path in the suite")
    return found


def read_vqa(settings: VqaSettings) -> SourceFrames:
    """Items with their references, and every model's answers; records that make no row come back as rejected."""
    rejects = _Rejects()
    items = _read_items(settings, rejects)
    answers = [row for model, file in find_answer_files(settings.answers).items() for row in _read_results(model, file, rejects)]
    return SourceFrames(
        items=pl.DataFrame(items, schema=ITEMS, orient="row"),
        answers=pl.DataFrame(answers, schema=ANSWERS, orient="row"),
        captions=pl.DataFrame(_read_captions(settings, items), schema=CAPTIONS, orient="row"),
        rejected=tuple(rejects),
    )


def _read_items(settings: VqaSettings, rejects: _Rejects) -> list[tuple[object, ...]]:
    annotations = dict(_index(settings.references, rejects, "annotations", "questions"))
    source = settings.questions or settings.references
    naming = _image_naming(settings.questions) if settings.questions else ""
    records = _index(settings.questions, rejects, "questions") if settings.questions else list(annotations.items())
    rows: list[tuple[object, ...]] = []
    for question_id, (locator, record) in records:
        place, (_, annotation) = (source, locator), annotations.get(question_id, ("", {}))
        question = record.get("question", annotation.get("question"))
        if not isinstance(question, str) or not question.strip():
            rejects.add("items", place, "question", question, "the question is missing or not text")
            continue
        references = _references(annotation, (settings.references, question_id), rejects)
        image = str(annotation.get("image") or _image_name(naming, record))
        category = annotation.get("question_type")
        images = [{"uri": image, "sha256": None}] if image else []
        cluster = image or f"item:{question_id}"
        rows.append((question_id, "vqa", question, references, images, [], category, None, cluster, source.name, locator))
    return rows


def _index(file: Path, rejects: _Rejects, *keys: str) -> list[tuple[str, tuple[str, dict[str, Any]]]]:
    """(question id, (locator, record)) of each record that has an id."""
    found = []
    for number, record in enumerate(read_records(file, *keys)):
        locator = f"record {number}"
        question_id = record.get("question_id") if isinstance(record, dict) else None
        if isinstance(question_id, bool) or not isinstance(question_id, int | str) or question_id == "":
            rejects.add("items", (file, locator), "question_id", question_id, "the question_id is missing")
            continue
        found.append((str(question_id), (locator, record)))
    return found


def _references(annotation: Mapping[str, Any], place: tuple[Path, str], rejects: _Rejects) -> list[str]:
    """The annotators' answers in the file's order, duplicates kept; an unusable one is told and left out."""
    given = annotation.get("answers", annotation.get("answer", []))
    texts = []
    for answer in [given] if isinstance(given, str) else given:
        text = answer.get("answer") if isinstance(answer, dict) else answer
        if isinstance(text, str):
            texts.append(text)
        else:
            rejects.add("items", place, "answers", text, "a reference answer is not text; the item goes on without it")
    return texts


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


def _read_results(model: str, file: Path, rejects: _Rejects) -> Iterator[tuple[object, ...]]:
    for number, record in enumerate(read_records(file, "annotations", "results")):
        place = (file, f"record {number}")
        question_id = record.get("question_id") if isinstance(record, dict) else None
        if isinstance(question_id, bool) or not isinstance(question_id, int | str):
            rejects.add("answers", place, "question_id", question_id, "the question_id is missing")
            continue
        answer = record.get("answer")
        if isinstance(answer, bool) or not isinstance(answer, str | int | float):
            rejects.add("answers", place, "answer", answer, "the answer is missing or not text")
            continue
        yield (str(question_id), f"{model}/short/0", model, "short", 0, str(answer), file.name, place[1])


def _read_captions(settings: VqaSettings, items: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """COCO captions (`annotations: [{image_id, caption}]`) of the items' images, as the captioner `dataset`."""
    if settings.captions is None:
        return []
    by_id = {int(match[1]): str(row[8]) for row in items if (match := re.search(r"(\d+)\.\w+$", str(row[8])))}
    return [
        (by_id[record["image_id"]], "dataset", record["caption"], settings.captions.name, f"record {number}")
        for number, record in enumerate(read_records(settings.captions, "annotations"))
        if record.get("image_id") in by_id
    ]
