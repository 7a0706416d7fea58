"""Sources `nq301` (answers to 301 NQ questions with people's and judges' verdicts) and `nq_outputs`
(what systems answered to NQ).

Formats: the TSV and JSONL files of Kamalloo et al. 2023, "Evaluating Open-Domain Question Answering
in the Era of Large Language Models".
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from judgelake.tasks.errors import SourceError
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.readers.lines import (
    Rejects,
    TabRow,
    expect_files,
    read_json_lines,
    read_tab_rows,
)
from judgelake.tasks.sources.vqa import find_answer_files

VERSION = 1
_CRITERION = "correctness"
_QUESTION, _ANSWER, _LABEL, _GOLD = "Question", "Model answer", "Acceptable?", "Gold answers"
_RATINGS = {"yes": 1.0, "no": 0.0}
_Row = tuple[object, ...]


@frozen_settings
class Nq301Settings:
    """`answers` holds the answers with people's verdicts; `judges` names each judge's file, whose
    rows stand in the same order.

    `references` is the file with gold answers. `undecided` is the rating of a judge that replied
    but whose verdict is blank; null leaves it `unparsed`.
    """

    answers: SuitePath
    judges: Mapping[str, SuitePath]
    references: SuitePath | None = None
    undecided: float | None = None

    def __post_init__(self) -> None:
        if self.undecided is not None and not self.judges:
            raise ValueError("undecided: says nothing without `judges:`; add that, or remove it")
        if self.undecided is not None and not 0 <= self.undecided <= 1:
            raise ValueError(
                f"undecided: {self.undecided}; expected a rating from 0 to 1, or null; change it"
            )


@frozen_settings
class NqOutputsSettings:
    """`answers`: globs whose `{model}` names the system."""

    answers: tuple[SuitePath, ...]


def source_files(settings: Nq301Settings) -> list[Path]:
    """All files this source reads; raises SourceError where one is absent."""
    return expect_files(
        (settings.answers, settings.references, *settings.judges.values()), "a TSV file of NQ301"
    )


def read_nq301(settings: Nq301Settings) -> SourceFrames:
    """Questions, answers (one a row of the file, `row-<n>`), people's verdicts and the recorded
    judges'.
    """
    rejects = Rejects()
    rows = read_tab_rows(settings.answers, ("id", _QUESTION, _ANSWER, _LABEL), "answers", rejects)
    reported_there = settings.references in settings.judges.values()
    gold = _read_gold(settings.references, Rejects() if reported_there else rejects)
    good = [(row, row.cells) for row in rows if row.cells is not None]
    # A key makes one item of the rows of a question; rows of one id that ask differently stay two,
    # which ingestion rejects.
    items = {
        (cells["id"], cells[_QUESTION]): _item(row, cells, gold) for row, cells in reversed(good)
    }
    answers = [
        (cells["id"], f"row-{row.position}", None, "short", 0, cells[_ANSWER], *row.place)
        for row, cells in good
    ]
    ratings = [rating for row, cells in good for rating in _ratings(row, cells, rejects)]
    verdicts = [
        line
        for judge, file in settings.judges.items()
        for line in _verdicts(judge, file, rows, settings, rejects)
    ]
    return SourceFrames(
        items=pl.DataFrame(
            list(reversed(items.values())), schema=frame_schema("items"), orient="row"
        ),
        answers=pl.DataFrame(answers, schema=frame_schema("answers"), orient="row"),
        human_ratings=pl.DataFrame(ratings, schema=frame_schema("human_ratings"), orient="row"),
        recorded_verdicts=pl.DataFrame(
            verdicts, schema=frame_schema("recorded_verdicts"), orient="row"
        ),
        rejected=tuple(rejects),
    )


def _read_gold(file: Path | None, rejects: Rejects) -> dict[str, list[str]]:
    """Question -> its gold answers."""
    rows = read_tab_rows(file, (_QUESTION, _GOLD), "items", rejects) if file else []
    return {row.cells[_QUESTION]: row.cells[_GOLD].split(" | ") for row in rows if row.cells}


def _item(row: TabRow, cells: Mapping[str, str], gold: Mapping[str, list[str]]) -> _Row:
    references = gold.get(cells[_QUESTION], [])
    return (
        cells["id"],
        "vqa",
        cells[_QUESTION],
        references,
        [],
        [],
        None,
        None,
        f"question:{cells['id']}",
        *row.place,
    )


def _ratings(row: TabRow, cells: Mapping[str, str], rejects: Rejects) -> Iterator[_Row]:
    """One rating an annotator who gave one, the decided label as the annotator `label`; a blank
    cell is none.
    """
    columns = {_LABEL: "label", **{name: name for name in cells if name.startswith("annotator")}}
    for column, annotator in columns.items():
        text = cells[column].strip()
        if not text:
            continue
        rating = _RATINGS.get(text.casefold())
        if rating is None:
            rejects.add(
                "human_ratings",
                row.place,
                column,
                text,
                "the verdict is neither Yes nor No nor blank",
            )
            continue
        yield (
            cells["id"],
            f"row-{row.position}",
            _CRITERION,
            annotator,
            rating,
            0.0,
            1.0,
            *row.place,
        )


def _verdicts(
    judge: str, file: Path, answers: Sequence[TabRow], settings: Nq301Settings, rejects: Rejects
) -> Iterator[_Row]:
    """A judge's verdict on the answer in the same row. An answer that reads differently there is
    kept, with a note in `reason`.
    """
    rows = read_tab_rows(file, (_QUESTION, _ANSWER, _LABEL), "recorded_verdicts", rejects)
    if len(rows) != len(answers):
        raise SourceError(
            f"{file}: has {len(rows)} rows, {settings.answers.name} has {len(answers)}; "
            f"expected a verdict a row of that file, "
            "in its order; fetch both again"
        )
    for row, answer in zip(rows, answers, strict=True):
        if row.cells is None or answer.cells is None:
            continue  # read_tab_rows has rejected it
        if row.cells[_QUESTION] != answer.cells[_QUESTION]:
            misplaced = (
                f"the question differs from that of {settings.answers.name} "
                f"{answer.place[1]}; rows are matched by their order"
            )
            rejects.add("recorded_verdicts", row.place, _QUESTION, row.cells[_QUESTION], misplaced)
            continue
        status, rating, reason = _read_verdict(row.cells[_LABEL], settings.undecided)
        judged = row.cells[_ANSWER]
        if judged != answer.cells[_ANSWER]:
            differs = f"the judge's file has the answer {judged[:100]!r} in this row"
            reason = f"{differs}; {reason}" if reason else differs
        text = list(row.cells.values())[-1] if list(row.cells)[-1] != _LABEL else None
        case = (answer.cells["id"], f"row-{answer.position}", judge, _CRITERION, 0)
        yield (*case, status, rating, 0.0, 1.0, text, reason, *row.place)


def _read_verdict(cell: str, undecided: float | None) -> tuple[str, float | None, str | None]:
    rating = _RATINGS.get(cell.strip().casefold())
    if rating is not None:
        return "ok", rating, None
    if not cell.strip() and undecided is not None:
        return "ok", undecided, f"the verdict is blank; read as {undecided} (undecided)"
    return (
        "unparsed",
        None,
        f"the verdict is {cell[:100]!r}, neither Yes nor No"
        if cell.strip()
        else "the verdict is blank",
    )


def output_files(settings: NqOutputsSettings) -> list[Path]:
    """All files `nq_outputs` reads; raises SourceError where a glob finds none."""
    return [file for pattern in settings.answers for file in find_answer_files(pattern).values()]


def read_nq_outputs(settings: NqOutputsSettings) -> SourceFrames:
    """Every question of the files as an item (its id is the question itself) and every prediction
    as an answer.

    An item's references are all that any file gives, in the order of first sight; a list of
    predictions is one answer, joined by ", ".
    """
    rejects = Rejects()
    references: dict[str, dict[str, None]] = {}
    places: dict[str, tuple[str, str]] = {}
    answers: list[_Row] = []
    for model, file in [
        pair for pattern in settings.answers for pair in find_answer_files(pattern).items()
    ]:
        for place, record in read_json_lines(file, "answers", rejects):
            question, gold, predicted = (
                record.get("question"),
                record.get("answer"),
                _join(record.get("prediction")),
            )
            if not isinstance(question, str) or not question.strip():
                rejects.add(
                    "answers", place, "question", question, "the question is missing or not text"
                )
            elif not isinstance(gold, list) or not all(isinstance(text, str) for text in gold):
                rejects.add(
                    "answers", place, "answer", gold, "the gold answers are not a list of texts"
                )
            elif predicted is None:
                rejects.add(
                    "answers",
                    place,
                    "prediction",
                    record.get("prediction"),
                    "the prediction is missing or not text",
                )
            else:
                references.setdefault(question, {}).update(dict.fromkeys(gold))
                places.setdefault(question, place)
                answers.append((question, f"{model}/short/0", model, "short", 0, predicted, *place))
    items: list[_Row] = [
        (key, "vqa", key, list(gold), [], [], None, None, f"question:{key}", *places[key])
        for key, gold in references.items()
    ]
    return SourceFrames(
        items=pl.DataFrame(items, schema=frame_schema("items"), orient="row"),
        answers=pl.DataFrame(answers, schema=frame_schema("answers"), orient="row"),
        rejected=tuple(rejects),
    )


def _join(predicted: object) -> str | None:
    """The prediction as one text, None where there is none."""
    given = predicted if isinstance(predicted, list) else [predicted]
    texts = [text for text in given if isinstance(text, str)]
    return ", ".join(texts) if texts and len(texts) == len(given) else None


SOURCE = Source(
    "nq301", Nq301Settings, VERSION, source_files, lambda settings, _: read_nq301(settings)
)
OUTPUTS_SOURCE = Source(
    "nq_outputs",
    NqOutputsSettings,
    VERSION,
    output_files,
    lambda settings, _: read_nq_outputs(settings),
)
