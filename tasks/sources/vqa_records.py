"""The records of VQA files: which have a question's id, and what their fields say. Making rows of them is `vqa`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tasks.digests import digest_json
from tasks.sources.frames import Rejected
from tasks.sources.json_files import read_header, read_record_batches


class Record(NamedTuple):
    """A record with its question's id and its number in the file."""

    question_id: str
    number: int
    content: Mapping[str, Any]


class Unusable(NamedTuple):
    """What annotations hold that no row can take, by their number in the file: the question, and single reference answers."""

    questions: dict[int, object]
    references: dict[int, list[object]]


class Rejects(list[Rejected]):
    """Records that cannot become a row, with the reasons."""

    def add(self, table: str, place: tuple[str, str], column: str, value: object, reason: str) -> None:
        """One record of a table that gives no row; `value` is quoted."""
        file, locator = place
        shown = None if value is None else str(value)[:200]
        remedy = "correct the record in the file and ingest again"
        self.append(Rejected(table, file, locator, column, shown, reason, remedy))


def read_identified(table: str, name: str, file: Path, keys: tuple[str, ...], rejects: Rejects) -> Iterator[list[Record]]:
    """Batches of records that have a question id, a whole number or text; the others are told."""
    start = 0
    for batch in read_record_batches(file, *keys):
        found: list[Record] = []
        for number, record in enumerate(batch, start):
            question_id = record.get("question_id") if isinstance(record, dict) else record
            usable = isinstance(question_id, int | str) and not isinstance(question_id, bool) and question_id != ""
            if isinstance(record, dict) and usable:
                found.append(Record(str(question_id), number, record))
                continue
            reason = "the question_id is missing or neither a whole number nor text"
            rejects.add(table, (name, f"record {number}"), "question_id", question_id, reason)
        start += len(batch)
        yield found


def find_references(number: int, annotation: Mapping[str, Any], unusable: Unusable) -> list[str]:
    """The annotators' answers in the file's order, duplicates kept; those that are no text are left out."""
    given = annotation.get("answers", annotation.get("answer", []))
    answers = [
        answer.get("answer") if isinstance(answer, dict) else answer for answer in (given if isinstance(given, list) else [given])
    ]
    texts = [text for text in answers if isinstance(text, str)]
    if len(texts) < len(answers):
        unusable.references[number] = [text for text in answers if not isinstance(text, str)]
    return texts


def usable_text(value: object) -> str | None:
    """A text that holds more than blanks, else None."""
    return value if isinstance(value, str) and value.strip() else None


def as_text(value: object) -> str | None:
    """A value as text; None stays."""
    return None if value is None else str(value)


def digest_record(content: Mapping[str, Any]) -> int:
    """Names a record's content within this process."""
    try:
        return hash(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))
    except orjson.JSONEncodeError:  # nested deeper than orjson writes, though not deeper than it reads
        return hash(digest_json(content))


def read_image_naming(questions: Path) -> str:
    """What stands before the number in the image names of a COCO questions' file; '' for other files."""
    content = read_header(questions)
    subtype = content.get("data_subtype", "") if isinstance(content, dict) else ""
    return f"{subtype}/COCO_{subtype}_" if subtype and content.get("data_type") == "mscoco" else ""


def name_image(naming: str, record: Mapping[str, Any]) -> str:
    """COCO's file name of an image id, as the VQA site lays images out."""
    image_id = record.get("image_id")
    if naming and isinstance(image_id, int):
        return f"{naming}{image_id:012d}.jpg"
    return "" if image_id is None else str(image_id)
