"""Source `vqa`: VQAv2 / OK-VQA questions, annotations and result files, and the combined form with
answers beside the question.

Official formats: visualqa.org/download (questions, annotations) and visualqa.org/evaluation
(results). The combined form is a list of `{question_id, question, answer[], image, dataset}`.
"""

import glob
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import polars as pl

from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import SourceError
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.readers.json_records import read_header, read_record_batches
from judgelake.tasks.sources.readers.lines import Rejects


class Record(NamedTuple):
    """A record with its question's id and its number in the file."""

    question_id: str
    number: int
    content: Mapping[str, Any]


class Unusable(NamedTuple):
    """What annotations hold that no row can take, by their number in the file: the question, and
    single reference answers.
    """

    questions: dict[int, object]
    references: dict[int, list[object]]


_REMEDY = "correct the record in the file and ingest again"


def read_identified(
    table: str, name: str, file: Path, keys: tuple[str, ...], rejects: Rejects
) -> Iterator[list[Record]]:
    """Batches of records that have a question id (a whole number or text); others are rejected."""
    start = 0
    for batch in read_record_batches(file, *keys):
        identified: list[Record] = []
        for number, record in enumerate(batch, start):
            question_id = record.get("question_id") if isinstance(record, dict) else record
            usable = (
                isinstance(question_id, int | str)
                and not isinstance(question_id, bool)
                and question_id != ""
            )
            if isinstance(record, dict) and usable:
                identified.append(Record(str(question_id), number, record))
                continue
            reason = "the question_id is missing or neither a whole number nor text"
            rejects.add(table, (name, f"record {number}"), "question_id", question_id, reason)
        start += len(batch)
        yield identified


def find_references(number: int, annotation: Mapping[str, Any], unusable: Unusable) -> list[str]:
    """The annotators' answers in the file's order, duplicates kept; those that are no text are left
    out.
    """
    given = annotation.get("answers", annotation.get("answer", []))
    answers = [
        answer.get("answer") if isinstance(answer, dict) else answer
        for answer in (given if isinstance(given, list) else [given])
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
    """A hash of a record's content, the same only within this process."""
    try:
        return hash(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))
    except (
        orjson.JSONEncodeError
    ):  # nested deeper than orjson writes, though not deeper than it reads
        return hash(digest_json(content))


def read_image_naming(questions: Path) -> str:
    """What stands before the number in the image names of a COCO questions' file; '' for other
    files.
    """
    content = read_header(questions)
    subtype = content.get("data_subtype", "") if isinstance(content, dict) else ""
    return f"{subtype}/COCO_{subtype}_" if subtype and content.get("data_type") == "mscoco" else ""


def name_image(naming: str, record: Mapping[str, Any]) -> str:
    """COCO's file name of an image id, as the VQA site lays images out."""
    image_id = record.get("image_id")
    if naming and isinstance(image_id, int):
        return f"{naming}{image_id:012d}.jpg"
    return "" if image_id is None else str(image_id)


VERSION = 1


@frozen_settings
class VqaSettings:
    """`answers` is a glob whose `{model}` names the model; of a model with several `{date}`s the
    one that sorts last is read. Without it there are questions alone, which models may be asked
    (`judgelake answer`).

    `questions` may be left out where `references` holds the questions.
    """

    references: SuitePath
    answers: SuitePath | None = None
    questions: SuitePath | None = None
    captions: SuitePath | None = None


_ANNOTATIONS: dict[str, Any] = {
    "item_id": pl.String,
    "annotation": pl.Int64,
    "digest": pl.Int64,
    "told_question": pl.String,
}
_ANNOTATIONS |= {
    "references": pl.List(pl.String),
    "image": pl.String,
    "own_image": pl.String,
    "category": pl.String,
}
"""One row an annotation with its number; `image` is its own word, `own_image` by its image id, if
there is no questions' file.
"""
_QUESTIONS: dict[str, Any] = {
    "item_id": pl.String,
    "number": pl.Int64,
    "asks": pl.Boolean,
    "question": pl.String,
    "id_image": pl.String,
}
"""One row a question; where it does not ask (usably or not) its annotation may hold the text."""


def source_files(settings: VqaSettings) -> list[Path]:
    """All files this source reads; raises SourceError where the answers glob finds none."""
    named = [
        file
        for file in (settings.questions, settings.references, settings.captions)
        if file is not None
    ]
    for file in named:
        if not file.is_file():
            raise SourceError(
                f"{file}: there is no such file; expected VQA questions or annotations; check "
                f"the path in the suite"
            )
    return [*named, *_find_answers(settings).values()]


def _find_answers(settings: VqaSettings) -> dict[str, Path]:
    return {} if settings.answers is None else find_answer_files(settings.answers)


def find_answer_files(pattern: Path) -> dict[str, Path]:
    """Model name -> result file for a glob such as `results/{model}.json`."""
    text = str(pattern)
    if text.count("{model}") != 1:
        raise SourceError(
            f"{pattern}: names no model; expected one '{{model}}' in the answers' path; write "
            f"it where the name stands"
        )
    kinds = {"{model}": "(?P<model>.+)", "{date}": "(?P<date>[^/]+)", "*": "[^/]*"}
    regex = re.compile("".join(kinds.get(part, re.escape(part)) for part in _split_pattern(text)))
    root = Path(re.split(r"\{model\}|\{date\}|\*", text)[0] + "x").parent
    while not root.is_dir() and root != root.parent:
        root = root.parent
    relative = _split_pattern(str(pattern.relative_to(root)))
    files = sorted(
        root.glob("".join("*" if part in kinds else glob.escape(part) for part in relative))
    )
    newest: dict[str, Path] = {}
    for date, model, file in sorted(
        _name_parts(regex, file) for file in files if regex.fullmatch(str(file))
    ):
        if model in newest and _name_parts(regex, newest[model])[0] == date:
            raise SourceError(
                f"{file}: is a second file of the model {model!r} beside {newest[model].name}; "
                f"expected one a model; "
                "make the answers' path in the suite narrower"
            )
        newest[model] = file
    if not newest:
        raise SourceError(
            f"{pattern}: no file matches; expected one result file a model; check the path in "
            f"the suite"
        )
    return newest


def _name_parts(regex: re.Pattern[str], file: Path) -> tuple[str, str, Path]:
    """Date ('' where the path has none), model and file of a path that matches."""
    parts = match.groupdict() if (match := regex.fullmatch(str(file))) else {}
    return parts.get("date", ""), parts["model"], file


def _split_pattern(text: str) -> list[str]:
    # in parentheses, so that the split keeps the placeholders
    return re.split(r"(\{model\}|\{date\}|\*)", text)


def read_vqa(settings: VqaSettings) -> SourceFrames:
    """Items with their references, and every model's answers; records that make no row come back as
    rejected.
    """
    rejects = Rejects(_REMEDY)
    items = _read_items(settings, rejects)
    pattern = settings.answers
    answers = [
        part
        for model, file in _find_answers(settings).items()
        if pattern is not None
        for part in _read_results(model, file, _name(pattern, file), rejects)
    ]
    return SourceFrames(
        items=items,
        answers=pl.concat([pl.DataFrame(schema=frame_schema("answers")), *answers]),
        captions=pl.DataFrame(
            _read_captions(settings, items, rejects), schema=frame_schema("captions"), orient="row"
        ),
        rejected=tuple(rejects),
    )


def _name(pattern: Path, file: Path) -> str:
    """The file's path from the part that names its model on: `{model}/answers.json` gives every
    model a file of the same name.
    """
    depth = next(
        number for number, part in enumerate(reversed(pattern.parts), 1) if "{model}" in part
    )
    return "/".join(file.parts[-depth:])


def _read_items(settings: VqaSettings, rejects: Rejects) -> pl.DataFrame:
    unusable, unasked = Unusable({}, {}), dict[int, object]()
    read = _read_annotations(settings, unusable, rejects)
    differ = _reject_differing(read, settings.references.name, rejects)
    annotations = (
        read.unique("item_id", keep="first", maintain_order=True)
        if read["item_id"].is_duplicated().any()
        else read
    )
    del read
    if settings.questions is None:
        asked = annotations.with_columns(
            number="annotation", asks=False, question=None, id_image="own_image"
        )
    else:
        asked = _read_questions(settings.questions, unasked, rejects)
        asked = asked.join(annotations, on="item_id", how="left", maintain_order="left")
    asked = asked.filter(~pl.col("item_id").is_in(differ)) if differ else asked
    asked = asked.with_columns(question=pl.when("asks").then("question").otherwise("told_question"))
    _reject_unusable(asked, unasked, unusable, settings, rejects)
    return _make_items(
        asked.filter(pl.col("question").is_not_null()),
        (settings.questions or settings.references).name,
    )


def _make_items(asked: pl.DataFrame, file: str) -> pl.DataFrame:
    uri = pl.coalesce("image", "id_image")
    image = pl.concat_list(pl.struct(uri=uri, sha256=pl.lit(None, pl.String)))
    return asked.select(
        "item_id",
        pl.lit("vqa").alias("task"),
        pl.col("question").alias("prompt"),
        pl.col("references").fill_null([]),
        pl.when(uri != "")
        .then(image)
        .otherwise(pl.lit([], frame_schema("items")["images"]))
        .alias("images"),
        pl.lit([], frame_schema("items")["regions"]).alias("regions"),
        "category",
        pl.lit(None, pl.String).alias("split"),
        pl.when(uri != "")
        .then(uri)
        .otherwise(pl.concat_str(pl.lit("item:"), "item_id"))
        .alias("cluster"),
        pl.lit(file).alias("source_file"),
        _locator("number"),
    )


def _locator(number: str) -> pl.Expr:
    return pl.concat_str(pl.lit("record "), number).alias("locator")


def _read_annotations(settings: VqaSettings, unusable: Unusable, rejects: Rejects) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=_ANNOTATIONS)]
    for batch in read_identified(
        "items",
        settings.references.name,
        settings.references,
        ("annotations", "questions"),
        rejects,
    ):
        rows = []
        for question_id, number, content in batch:
            question, references = (
                usable_text(content.get("question")),
                find_references(number, content, unusable),
            )
            if question is None and content.get("question") is not None:
                unusable.questions[number] = content["question"]
            image, own = content.get("image"), "" if settings.questions else name_image("", content)
            place = (question_id, number, digest_record(content))
            rows.append(
                (
                    *place,
                    question,
                    references,
                    str(image) if image else None,
                    own,
                    as_text(content.get("question_type")),
                )
            )
        frames.append(pl.DataFrame(rows, schema=_ANNOTATIONS, orient="row"))
    return pl.concat(frames)


def _read_questions(file: Path, unasked: dict[int, object], rejects: Rejects) -> pl.DataFrame:
    """The questions; what is no usable text comes into `unasked` by the record's number."""
    naming = read_image_naming(file)
    frames = [pl.DataFrame(schema=_QUESTIONS)]
    for batch in read_identified("items", file.name, file, ("questions",), rejects):
        rows = []
        for question_id, number, content in batch:
            question = usable_text(content.get("question"))
            if question is None:
                unasked[number] = content.get("question")
            rows.append(
                (question_id, number, "question" in content, question, name_image(naming, content))
            )
        frames.append(pl.DataFrame(rows, schema=_QUESTIONS, orient="row"))
    return pl.concat(frames)


def _reject_differing(annotations: pl.DataFrame, file: str, rejects: Rejects) -> list[str]:
    """Reject the annotations of questions that have different ones; the ids of those questions."""
    seen = annotations.select("item_id", "annotation", "digest").filter(
        pl.col("item_id").is_duplicated()
    )
    differ = seen.filter(pl.col("digest").n_unique().over("item_id") > 1).sort(
        "item_id", "annotation"
    )
    for key, number in differ.select("item_id", "annotation").iter_rows():
        rejects.add(
            "items",
            (file, f"record {number}"),
            "question_id",
            key,
            "records of the same question differ",
        )
    return differ["item_id"].unique().to_list()


def _reject_unusable(
    asked: pl.DataFrame,
    unasked: Mapping[int, object],
    unusable: Unusable,
    settings: VqaSettings,
    rejects: Rejects,
) -> None:
    """Questions that are no text, and reference answers that are none, in the order of the
    questions.
    """
    file = (settings.questions or settings.references).name
    marked = asked.filter(
        pl.col("question").is_null() | pl.col("annotation").is_in(list(unusable.references))
    )
    for number, annotation, asks, question in marked.select(
        "number", "annotation", "asks", "question"
    ).iter_rows():
        if question is None:
            value = unasked.get(number) if asks else unusable.questions.get(annotation)
            reason = "the question is missing or not text"
            rejects.add("items", (file, f"record {number}"), "question", value, reason)
            continue
        place, reason = (
            (settings.references.name, f"record {annotation}"),
            "a reference answer is not text; the item goes on without it",
        )
        for value in unusable.references[annotation]:
            rejects.add("items", place, "answers", value, reason)


def _read_results(model: str, file: Path, name: str, rejects: Rejects) -> Iterator[pl.DataFrame]:
    for batch in read_identified("answers", name, file, ("annotations", "results"), rejects):
        rows = []
        for question_id, number, content in batch:
            answer = content.get("answer")
            if isinstance(answer, bool) or not isinstance(answer, str | int | float):
                rejects.add(
                    "answers",
                    (name, f"record {number}"),
                    "answer",
                    answer,
                    "the answer is missing or not text",
                )
                continue
            rows.append((question_id, str(answer), number))
        frame = pl.DataFrame(
            rows, schema={"item_id": pl.String, "text": pl.String, "number": pl.Int64}, orient="row"
        )
        fixed = {
            "answer_id": pl.lit(f"{model}/short/0"),
            "model": pl.lit(model),
            "style": pl.lit("short"),
            "sample": pl.lit(0, pl.Int64),
        }
        yield frame.with_columns(
            **fixed, source_file=pl.lit(name), locator=_locator("number")
        ).select(list(frame_schema("answers")))


def _read_captions(
    settings: VqaSettings, items: pl.DataFrame, rejects: Rejects
) -> list[tuple[object, ...]]:
    """COCO captions (`annotations: [{image_id, caption}]`) of the items' images, as the captioner
    `dataset`.
    """
    if settings.captions is None:
        return []
    images = items.select("cluster").unique(keep="last", maintain_order=True)["cluster"]
    # COCO's image id is the number that ends the file name: `COCO_val2014_000000000042.jpg`.
    by_id = {
        int(match[1]): image for image in images if (match := re.search(r"(\d+)(?:\.\w+)?$", image))
    }
    rows: list[tuple[object, ...]] = []
    records = (
        record
        for batch in read_record_batches(settings.captions, "annotations")
        for record in batch
    )
    for number, record in enumerate(records):
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


SOURCE = Source("vqa", VqaSettings, VERSION, source_files, lambda settings, _: read_vqa(settings))
