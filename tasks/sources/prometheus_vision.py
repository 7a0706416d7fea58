"""Source `prometheus_vision`: evaluation and training rows of Prometheus-Vision
(github.com/prometheus-eval/prometheus-vision).

An evaluation row (JSONL) has an image and a rubric prompt; a training row (JSON) also the feedback
and score that GPT-4V gave.

The layout: `###The instruction to evaluate:`, `###Response to evaluate:`, `###Reference Answer
(Score 5):`, `###Score Rubrics:` (a criterion, in brackets in some files, then lines `Score n: ...`
from 1 on) and a closing `###Feedback:`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from judgelake.tasks.digests import digest_json
from judgelake.tasks.judging.reading import read_result_marker
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.readers.json_records import read_records
from judgelake.tasks.sources.readers.lines import Rejects, find_files, read_json_lines

# The headings of a rubric prompt, each alone on its line; the last begins GPT-4V's feedback.
_HEADINGS = re.compile(
    r"^###[ \t]*(?:(?P<instruction>The instruction to evaluate)|(?P<response>Response to evaluate)"
    r"|(?P<reference>Reference Answer)(?: \(Score \d+\))?|(?P<rubric>Score "
    r"Rubrics?)|(?P<feedback>Feedback)):[ \t]*$",
    re.MULTILINE,
)
# `Score 1: <what it means>` begins a level of the rubric.
_LEVEL = re.compile(r"^Score (\d+):", re.MULTILINE)


class RubricPrompt(NamedTuple):
    """What a judge was shown; `levels` are what each score means, that of score 1 first."""

    instruction: str
    response: str
    reference: str
    criterion: str
    levels: tuple[str, ...]


def parse_rubric_prompt(text: str) -> RubricPrompt | None:
    """The parts of a rubric prompt, or None where one is missing, empty (only the response may be)
    or the levels do not count up from 1.

    The first instruction heading and the last rubric count, so an instruction or response that
    quotes a heading splits at the outermost.
    """
    headings = [(str(match.lastgroup), match) for match in _HEADINGS.finditer(text)]
    first = next((match for name, match in headings if name == "instruction"), None)
    rubric = next((match for name, match in reversed(headings) if name == "rubric"), None)
    if first is None or rubric is None:
        return None
    inner = [
        (name, match) for name, match in headings if first.end() <= match.start() < rubric.start()
    ]
    response = next((match for name, match in inner if name == "response"), None)
    reference = next((match for name, match in reversed(inner) if name == "reference"), None)
    if response is None or reference is None or response.start() > reference.start():
        return None
    closing = next(
        (
            match
            for name, match in headings
            if name == "feedback" and match.start() > rubric.start()
        ),
        None,
    )
    parsed = _parse_rubric(text[rubric.end() : closing.start() if closing else len(text)])
    parts = [
        text[first.end() : response.start()],
        text[response.end() : reference.start()],
        text[reference.end() : rubric.start()],
    ]
    instruction, shown, model_answer = (part.strip() for part in parts)
    return (
        RubricPrompt(instruction, shown, model_answer, *parsed)
        if parsed and instruction and model_answer
        else None
    )


def _parse_rubric(text: str) -> tuple[str, tuple[str, ...]] | None:
    """(criterion, levels) of the text under the rubric's heading."""
    marks = list(_LEVEL.finditer(text))
    if not marks or [int(mark[1]) for mark in marks] != list(range(1, len(marks) + 1)):
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    levels = tuple(text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True))
    criterion = text[: marks[0].start()].strip()
    if criterion.startswith("[") and criterion.endswith("]"):
        criterion = criterion[1:-1].strip()
    return (criterion, levels) if criterion and all(levels) else None


VERSION = 1
CRITERION = "rubric"
_LEVELS = range(1, 6)
# Every `./` and `../` at the beginning of a path.
_UPWARDS = re.compile(r"(?:\.\.?/)*")
_REMEDY = "correct the record in the file and ingest again"
_Row = dict[str, object]


@frozen_settings
class PrometheusVisionSettings:
    """`evaluation`: JSONL files, `training`: JSON files; globs too, at least one of both. `judge`:
    who gave the feedback of the training rows.
    """

    evaluation: tuple[SuitePath, ...] = ()
    training: tuple[SuitePath, ...] = ()
    judge: str = "gpt-4v"

    def __post_init__(self) -> None:
        if not self.evaluation and not self.training:
            raise ValueError(
                "evaluation: there are no files; expected `evaluation:` or `training:`; add one"
            )
        if self.judge != "gpt-4v" and not self.training:
            raise ValueError("judge: says nothing without `training:`; add that, or remove it")


class _FeedbackRow(NamedTuple):
    """A row of either kind; `feedback` is None where nobody judged it."""

    place: tuple[str, str]
    split: str
    image: object
    prompt: object
    feedback: str | None


def source_files(settings: PrometheusVisionSettings) -> list[Path]:
    """All files this source reads; raises SourceError for a path that finds none."""
    return [*_evaluation_files(settings), *_training_files(settings)]


def _evaluation_files(settings: PrometheusVisionSettings) -> list[Path]:
    return find_files(settings.evaluation, "Prometheus-Vision's evaluation rows (JSONL)")


def _training_files(settings: PrometheusVisionSettings) -> list[Path]:
    return find_files(settings.training, "Prometheus-Vision's training rows (JSON)")


def read_prometheus_vision(settings: PrometheusVisionSettings) -> SourceFrames:
    """Items (instruction, image, reference), responses as answers of no known model, rubrics, and
    GPT-4V's recorded verdicts.

    The rows of one split, instruction, image, reference and rubric are one item. An image's path
    begins below the `../` of the release, so that `../mmmu/1.png` is `mmmu/1.png` in the image
    folder.
    """
    rejects = Rejects()
    names = ("items", "answers", "rubrics", "item_rubrics", "recorded_verdicts")
    tables: dict[str, list[_Row]] = {name: [] for name in names}
    for case in _read_cases(settings, rejects):
        parsed = parse_rubric_prompt(case.prompt) if isinstance(case.prompt, str) else None
        if parsed is None or not isinstance(case.image, str) or not case.image:
            column = "image" if parsed else "instruction"
            reason = (
                "the image is missing"
                if parsed
                else "the prompt does not hold instruction, response, reference and rubric"
            )
            rejects.add(
                "items", case.place, column, case.image if parsed else case.prompt, reason, _REMEDY
            )
            continue
        for name, row in _rows(case, parsed, case.image, settings.judge).items():
            tables[name].append(row | {"source_file": case.place[0], "locator": case.place[1]})
    frames = {name: pl.DataFrame(rows, schema=frame_schema(name)) for name, rows in tables.items()}
    return SourceFrames(**frames, rejected=tuple(rejects), notes=())


def _read_cases(settings: PrometheusVisionSettings, rejects: Rejects) -> Iterator[_FeedbackRow]:
    for file in _evaluation_files(settings):
        for place, record in read_json_lines(file, "items", rejects):
            yield _FeedbackRow(
                place, "evaluation", record.get("image"), record.get("instruction"), None
            )
    for file in _training_files(settings):
        for number, record in enumerate(read_records(file, "data")):
            turns = _turns(record)
            place = (file.name, f"record {number}")
            if turns is None:
                reason = "the record has no turn of `human` followed by one of `gpt`"
                rejects.add("items", place, "conversations", record, reason, _REMEDY)
            else:
                yield _FeedbackRow(place, "train", record.get("image"), *turns)


def _turns(record: Any) -> tuple[str, str] | None:
    """The prompt and the reply of a training row."""
    turns = record.get("conversations") if isinstance(record, dict) else None
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        return None
    messages = [(turn.get("from"), turn.get("value")) for turn in turns]
    match messages:
        case [("human", str(prompt)), ("gpt", str(reply))]:
            return prompt, reply
    return None


def _rows(case: _FeedbackRow, parsed: RubricPrompt, image: str, judge: str) -> dict[str, _Row]:
    """Table -> the row that a case gives it."""
    uri = _UPWARDS.sub("", image, count=1)
    rubric_id = digest_json([parsed.criterion, parsed.levels])[:16]
    item_id = digest_json([case.split, parsed.instruction, uri, parsed.reference, rubric_id])[:16]
    answer: _Row = {
        "item_id": item_id,
        "answer_id": f"response-{digest_json(parsed.response)[:12]}",
    }
    item: _Row = {
        "item_id": item_id,
        "task": "instruction",
        "prompt": parsed.instruction,
        "references": [parsed.reference],
    }
    item |= {
        "images": [{"uri": uri, "sha256": None}],
        "regions": [],
        "category": None,
        "split": case.split,
        "cluster": uri,
    }
    rows: dict[str, _Row] = {
        "items": item,
        "answers": {**answer, "model": None, "style": "long", "sample": 0, "text": parsed.response},
        "rubrics": {
            "rubric_id": rubric_id,
            "criterion": parsed.criterion,
            "levels": list(parsed.levels),
        },
        "item_rubrics": {"item_id": item_id, "rubric_id": rubric_id},
    }
    if case.feedback is not None:
        rows["recorded_verdicts"] = answer | _verdict(case.feedback, judge)
    return rows


def _verdict(feedback: str, judge: str) -> _Row:
    read = read_result_marker(feedback, _LEVELS)
    status, reason = (
        ("ok", None) if read else ("unparsed", "the feedback ends in no score from 1 to 5")
    )
    reply: _Row = {
        "judge": judge,
        "criterion": CRITERION,
        "sample": 0,
        "status": status,
        "reason": reason,
        "text": feedback,
    }
    return {
        **reply,
        "rating": float(read.rating) if read else None,
        "scale_low": 1.0,
        "scale_high": 5.0,
    }


SOURCE = Source(
    "prometheus_vision",
    PrometheusVisionSettings,
    VERSION,
    source_files,
    lambda settings, _: read_prometheus_vision(settings),
)
