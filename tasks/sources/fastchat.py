"""Source `fastchat`: questions, answers and pairwise reviews as FastChat and LLaVA keep them, one
JSON object a line.

Formats: FastChat's first evaluation (question.jsonl, answer_*.jsonl, review_*.jsonl, a text file
with one human verdict a line) and LLaVA-Bench-COCO (questions with an image, reference answers,
captions of the images). The boxes beside those captions are shares of an image whose size the file
does not give, so they do not become regions, which are pixels.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from judgelake.tasks.judging.reading import read_two_numbers
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.readers.lines import (
    Rejects,
    expect_files,
    find_files,
    read_json_lines,
    read_lines,
)

VERSION = 1
_LOW, _HIGH = 0.0, 10.0  # reviewers are asked for 1 to 10, and give a 0 now and then
_Row = tuple[object, ...]


@frozen_settings
class FastchatSettings:
    """`answers` and `reviews` are globs. `judge` is the reviewer's name (null: each review's
    `reviewer_id`).

    `human` holds one verdict a line, line n for question n: `TIE` or a key of `human_labels`, which
    name the models of a and b in order.
    """

    questions: SuitePath
    answers: tuple[SuitePath, ...] = ()
    references: SuitePath | None = None
    captions: SuitePath | None = None
    reviews: tuple[SuitePath, ...] = ()
    judge: str | None = None
    human: SuitePath | None = None
    human_labels: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if self.human is not None and (self.human_labels is None or len(self.human_labels) != 2):
            raise ValueError(
                "human_labels: missing or not two; expected `{WORD: model of a, WORD: model of "
                "b}` with `human`; add it"
            )
        for key, beside in (("human_labels", "human"), ("judge", "reviews")):
            if getattr(self, key) is not None and not getattr(self, beside):
                raise ValueError(f"{key}: says nothing without `{beside}:`; add that, or remove it")


class _AnswerLine(NamedTuple):
    item_id: str
    answer_id: str
    model: str
    text: str
    place: tuple[str, str]


def source_files(settings: FastchatSettings) -> list[Path]:
    """All files this source reads; raises SourceError where one is absent or a glob finds none."""
    named = expect_files(
        (settings.questions, settings.references, settings.captions, settings.human),
        "a file of FastChat's format",
    )
    return [
        *named,
        *find_files(settings.answers, "answers of a model"),
        *find_files(settings.reviews, "reviews of answers"),
    ]


def read_fastchat(settings: FastchatSettings) -> SourceFrames:
    """Items, answers, captions, the reviewer's duels and people's preferences."""
    rejects = Rejects()
    answers: list[_AnswerLine] = []
    by_native: dict[str, _AnswerLine] = {}
    for file in find_files(settings.answers, "answers of a model"):
        for native, answer in _read_answers(file, rejects):
            answers.append(answer)
            by_native.setdefault(native, answer)
    duels = [
        row
        for file in find_files(settings.reviews, "reviews of answers")
        for row in _reviews(file, by_native, settings, rejects)
    ]
    rows = [
        (answer.item_id, answer.answer_id, answer.model, "long", 0, answer.text, *answer.place)
        for answer in answers
    ]
    return SourceFrames(
        items=pl.DataFrame(
            list(_items(settings, rejects)), schema=frame_schema("items"), orient="row"
        ),
        answers=pl.DataFrame(rows, schema=frame_schema("answers"), orient="row"),
        captions=pl.DataFrame(
            list(_captions(settings.captions, rejects)),
            schema=frame_schema("captions"),
            orient="row",
        ),
        human_preferences=pl.DataFrame(
            list(_preferences(settings, answers, rejects)),
            schema=frame_schema("human_preferences"),
            orient="row",
        ),
        recorded_duels=pl.DataFrame(duels, schema=frame_schema("recorded_duels"), orient="row"),
        rejected=tuple(rejects),
    )


def _items(settings: FastchatSettings, rejects: Rejects) -> Iterator[_Row]:
    references = _references(settings.references, rejects)
    for place, record in read_json_lines(settings.questions, "items", rejects):
        key, question, image = _key(record), record.get("text"), record.get("image")
        if key is None or not isinstance(question, str) or not question.strip():
            rejects.add(
                "items",
                place,
                "text",
                record.get("text"),
                "the question or its question_id is missing",
            )
            continue
        images = [{"uri": str(image), "sha256": None}] if image else []
        category, cluster = record.get("category"), str(image) if image else f"question:{key}"
        shown = references.get(key, [])
        yield (
            key,
            "instruction",
            question,
            shown,
            images,
            [],
            str(category) if category else None,
            None,
            cluster,
            *place,
        )


def _references(file: Path | None, rejects: Rejects) -> dict[str, list[str]]:
    references: dict[str, list[str]] = {}
    for place, record in read_json_lines(file, "items", rejects) if file else ():
        key, text = _key(record), record.get("text")
        if key is None or not isinstance(text, str):
            rejects.add(
                "items", place, "text", text, "the reference answer or its question_id is missing"
            )
        else:
            references.setdefault(key, []).append(text)
    return references


def _read_answers(file: Path, rejects: Rejects) -> Iterator[tuple[str, _AnswerLine]]:
    """(the file's own answer_id, answer) of each line."""
    for place, record in read_json_lines(file, "answers", rejects):
        key, model, text = _key(record), record.get("model_id"), record.get("text")
        if key is None or not isinstance(model, str) or not model:
            rejects.add(
                "answers", place, "model_id", model, "the model_id or the question_id is missing"
            )
        elif not isinstance(text, str):
            rejects.add("answers", place, "text", text, "the answer is missing or not text")
        else:
            yield (
                str(record.get("answer_id")),
                _AnswerLine(key, f"{model}/long/0", model, text, place),
            )


def _captions(file: Path | None, rejects: Rejects) -> Iterator[_Row]:
    for place, record in read_json_lines(file, "captions", rejects) if file else ():
        image, texts = record.get("image"), record.get("captions")
        if not isinstance(image, str) or not isinstance(texts, list):
            rejects.add(
                "captions", place, "captions", texts, "the image or its captions are missing"
            )
            continue
        for text in texts:
            if isinstance(text, str):
                yield (image, "dataset", text, *place)
            else:
                rejects.add("captions", place, "captions", text, "the caption is not text")


def _reviews(
    file: Path, answers: Mapping[str, _AnswerLine], settings: FastchatSettings, rejects: Rejects
) -> Iterator[_Row]:
    """Duels as read from the reviewer's texts; the reviewer saw answer 1 first."""
    for place, record in read_json_lines(file, "recorded_duels", rejects):
        sides = [answers.get(str(record.get(name))) for name in ("answer1_id", "answer2_id")]
        judge, text = settings.judge or record.get("reviewer_id"), record.get("text")
        a, b = sides
        if a is None or b is None or a.item_id != b.item_id or _key(record) != a.item_id:
            shown = f"{record.get('answer1_id')}, {record.get('answer2_id')}"
            rejects.add(
                "recorded_duels",
                place,
                "answer1_id, answer2_id",
                shown,
                "these are not two answers to the review's question",
            )
        elif not isinstance(judge, str) or not isinstance(text, str):
            rejects.add(
                "recorded_duels",
                place,
                "text",
                text,
                "the review's text or its reviewer_id is missing",
            )
        else:
            yield (
                a.item_id,
                a.answer_id,
                b.answer_id,
                "overall",
                "a",
                *_read_review(text, judge),
                *place,
            )


def _read_review(text: str, judge: str) -> _Row:
    """Choice, judge, sample, status, preference_b, score_a, score_b, text, top_logprobs, reason."""
    scores = read_two_numbers(text, _LOW, _HIGH)
    if scores is None:
        reason = f"the review does not clearly give two scores from {_LOW:g} to {_HIGH:g}"
        return (None, judge, 0, "unparsed", None, None, None, text, [], reason)
    choice = (
        "tie" if scores.first == scores.second else "a" if scores.first > scores.second else "b"
    )
    share = {"a": 0.0, "b": 1.0, "tie": 0.5}[choice]
    return (choice, judge, 0, "ok", share, scores.first, scores.second, text, [], None)


def _preferences(
    settings: FastchatSettings, answers: list[_AnswerLine], rejects: Rejects
) -> Iterator[_Row]:
    """Human verdicts by line; a blank line is a question for which there is none."""
    if settings.human is None or settings.human_labels is None:
        return
    models = list(settings.human_labels.values())
    choices: dict[str, str | None] = {
        **dict(zip(settings.human_labels, "ab", strict=True)),
        "TIE": "tie",
        "": None,
    }
    known = {(answer.item_id, answer.model): answer.answer_id for answer in answers}
    for line in read_lines(settings.human, "human_preferences", rejects):
        place, word = (settings.human.name, f"line {line.number}"), line.text.strip()
        a, b = (known.get((str(line.number), model)) for model in models)
        if word not in choices:
            words = ", ".join(word for word in choices if word)
            rejects.add("human_preferences", place, None, word, f"the verdict is none of {words}")
        elif a is None or b is None:
            reason = f"question {line.number} has no answers of {models[0]} and {models[1]}"
            rejects.add("human_preferences", place, None, word, reason)
        else:
            yield (str(line.number), a, b, "overall", None, choices[word], "human", None, *place)


def _key(record: Mapping[str, Any]) -> str | None:
    key = record.get("question_id")
    return (
        str(key) if isinstance(key, int | str) and not isinstance(key, bool) and key != "" else None
    )


SOURCE = Source(
    "fastchat", FastchatSettings, VERSION, source_files, lambda settings, _: read_fastchat(settings)
)
