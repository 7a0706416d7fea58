"""Source `owleval`: OwlEval's questions about images and the answers of several VLMs
(github.com/X-PLUG/mPLUG-Owl, OwlEval).
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.readers.lines import Rejects, expect_files, find_files, read_json_lines

VERSION = 1
_Row = tuple[object, ...]


@frozen_settings
class OwlEvalSettings:
    """`questions` and `answers` are JSONL files, of `answers` globs too; an answer names its model
    itself.
    """

    questions: SuitePath
    answers: tuple[SuitePath, ...]


def source_files(settings: OwlEvalSettings) -> list[Path]:
    """All files this source reads; raises SourceError for one that is absent."""
    return [
        *expect_files((settings.questions,), "OwlEval's questions"),
        *find_files(settings.answers, "OwlEval's answers"),
    ]


def read_owleval(settings: OwlEvalSettings) -> SourceFrames:
    """Questions with their image and abilities (the category), and every model's answers, whatever
    language they are in.
    """
    rejects = Rejects()
    items = [
        row
        for place, record in read_json_lines(settings.questions, "items", rejects)
        if (row := _item(place, record, rejects))
    ]
    stems = {str(row[0]): PurePosixPath(str(row[8])).stem for row in items}
    answers = [
        row
        for file in find_files(settings.answers, "OwlEval's answers")
        for place, record in read_json_lines(file, "answers", rejects)
        if (row := _answer(place, record, stems, rejects))
    ]
    return SourceFrames(
        items=pl.DataFrame(items, schema=frame_schema("items"), orient="row"),
        answers=pl.DataFrame(answers, schema=frame_schema("answers"), orient="row"),
        rejected=tuple(rejects),
    )


def _item(place: tuple[str, str], record: Mapping[str, Any], rejects: Rejects) -> _Row | None:
    question_id = _read_id(record)
    bad = (
        "question_id"
        if question_id is None
        else next((key for key in ("question", "image") if not _is_text(record.get(key))), None)
    )
    if bad is not None:
        rejects.add(
            "items", place, bad, record.get(bad), f"the {bad} is missing or of the wrong kind"
        )
        return None
    image, ability = record["image"], record.get("ability")
    category = ability if isinstance(ability, str) else None
    images = [{"uri": image, "sha256": None}]
    return (
        question_id,
        "instruction",
        record["question"],
        [],
        images,
        [],
        category,
        None,
        image,
        *place,
    )


def _answer(
    place: tuple[str, str], record: Mapping[str, Any], stems: Mapping[str, str], rejects: Rejects
) -> _Row | None:
    """One answer; its image may have another suffix than the question's, but not another name."""
    question_id, model, image = _read_id(record), record.get("model_id"), record.get("image")
    if question_id is None or not _is_text(model) or not isinstance(record.get("answer"), str):
        bad = "question_id" if question_id is None else "answer" if _is_text(model) else "model_id"
        rejects.add(
            "answers", place, bad, record.get(bad), f"the {bad} is missing or of the wrong kind"
        )
        return None
    stem = stems.get(question_id)
    if stem is not None and isinstance(image, str) and PurePosixPath(image).stem != stem:
        rejects.add(
            "answers",
            place,
            "image",
            image,
            f"the answer is about another image than its question ({stem})",
        )
        return None
    return (question_id, f"{model}/long/0", model, "long", 0, record["answer"], *place)


def _read_id(record: Mapping[str, Any]) -> str | None:
    """The question's id: a whole number in the questions, the same as text in some answers."""
    question_id = record.get("question_id")
    usable = (
        isinstance(question_id, int | str)
        and not isinstance(question_id, bool)
        and question_id != ""
    )
    return str(question_id) if usable else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


SOURCE = Source(
    "owleval", OwlEvalSettings, VERSION, source_files, lambda settings, _: read_owleval(settings)
)
