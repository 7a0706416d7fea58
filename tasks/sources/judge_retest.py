"""Source `judge_retest`: cases that one judge scored several times, each a rubric prompt with the
judge's scores and feedback texts.

Format: the evaluation files of Prometheus (Kim et al. 2024): a list of `{idx, response_source,
category, instruction, gpt4_score[], gpt4_feedback[]}` where `instruction` is the whole prompt.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.prometheus_vision import RubricPrompt, parse_rubric_prompt
from judgelake.tasks.sources.readers.json_records import read_records
from judgelake.tasks.sources.readers.lines import Rejects, expect_files

VERSION = 1
_CRITERION = "rubric"
_Row = tuple[object, ...]


@frozen_settings
class JudgeRetestSettings:
    """`field` is what the judge's keys begin with: `<field>_score`, `<field>_feedback`; `judge` its
    name in the lake.
    """

    cases: SuitePath
    judge: str = "gpt-4"
    field: str = "gpt4"


class _RetestRow(NamedTuple):
    question: str
    model: str
    prompt: RubricPrompt
    content: Mapping[str, Any]
    place: tuple[str, str]


def source_files(settings: JudgeRetestSettings) -> list[Path]:
    """All files this source reads; raises SourceError where one is absent."""
    return expect_files((settings.cases,), "a JSON list of judged cases")


def read_judge_retest(settings: JudgeRetestSettings) -> SourceFrames:
    """Items, answers, each item's rubric, and a recorded verdict a sample (criterion `rubric`, its
    text the feedback).

    An item is a question; where its prompt differs between models (a dialogue with the model's own
    first turn), each model's is one, and the question is their cluster.
    """
    rejects = Rejects()
    cases = list(_read_cases(settings.cases, rejects))
    prompts: dict[str, set[RubricPrompt]] = {}
    for case in cases:
        prompts.setdefault(case.question, set()).add(case.prompt._replace(response=""))
    named = [
        (
            f"{case.question}/{case.model}" if len(prompts[case.question]) > 1 else case.question,
            case,
        )
        for case in cases
    ]
    rubrics = {row[0]: row for row in (_rubric(case) for case in cases)}
    items = {key: _item(key, case) for key, case in named}
    linked = {key: (key, _rubric_id(case.prompt), *case.place) for key, case in named}
    answers = [
        (key, f"{case.model}/long/0", case.model, "long", 0, case.prompt.response, *case.place)
        for key, case in named
    ]
    verdicts = [row for key, case in named for row in _verdicts(key, case, settings, rejects)]
    return SourceFrames(
        items=pl.DataFrame(list(items.values()), schema=frame_schema("items"), orient="row"),
        answers=pl.DataFrame(answers, schema=frame_schema("answers"), orient="row"),
        recorded_verdicts=pl.DataFrame(
            verdicts, schema=frame_schema("recorded_verdicts"), orient="row"
        ),
        rubrics=pl.DataFrame(list(rubrics.values()), schema=frame_schema("rubrics"), orient="row"),
        item_rubrics=pl.DataFrame(
            list(linked.values()), schema=frame_schema("item_rubrics"), orient="row"
        ),
        rejected=tuple(rejects),
    )


def _read_cases(file: Path, rejects: Rejects) -> Iterator[_RetestRow]:
    for number, record in enumerate(read_records(file, "cases")):
        place = (file.name, f"record {number}")
        if not isinstance(record, dict):
            rejects.add("answers", place, None, record, "the record has no keys")
            continue
        question, model, text = (
            record.get("idx"),
            record.get("response_source"),
            record.get("instruction"),
        )
        prompt = parse_rubric_prompt(text) if isinstance(text, str) else None
        if isinstance(question, bool) or not isinstance(question, int | str) or question == "":
            rejects.add(
                "answers",
                place,
                "idx",
                question,
                "the idx is missing or neither a whole number nor text",
            )
        elif not isinstance(model, str) or not model:
            rejects.add(
                "answers",
                place,
                "response_source",
                model,
                "the response_source is missing or not text",
            )
        elif prompt is None:
            reason = (
                "the prompt lacks an instruction, a response, a reference answer or a "
                "rubric with levels from 1 on"
            )
            rejects.add("answers", place, "instruction", text, reason)
        else:
            yield _RetestRow(str(question), model, prompt, record, place)


def _item(key: str, case: _RetestRow) -> _Row:
    category, cluster = case.content.get("category"), f"question:{case.question}"
    shown = (case.prompt.instruction, [case.prompt.reference])
    return (
        key,
        "instruction",
        *shown,
        [],
        [],
        str(category) if category else None,
        None,
        cluster,
        *case.place,
    )


def _rubric(case: _RetestRow) -> _Row:
    return (_rubric_id(case.prompt), case.prompt.criterion, list(case.prompt.levels), *case.place)


def _rubric_id(prompt: RubricPrompt) -> str:
    return hashlib.sha256("\n".join((prompt.criterion, *prompt.levels)).encode()).hexdigest()[:16]


def _verdicts(
    key: str, case: _RetestRow, settings: JudgeRetestSettings, rejects: Rejects
) -> Iterator[_Row]:
    """One row a sample; a score that is no level of the rubric is `unparsed`."""
    names = (f"{settings.field}_score", f"{settings.field}_feedback")
    scores, texts = (case.content.get(name) for name in names)
    if not isinstance(scores, list) or not isinstance(texts, list) or len(scores) != len(texts):
        rejects.add(
            "recorded_verdicts",
            case.place,
            names[0],
            scores,
            f"{names[0]} and {names[1]} are not two lists of one length",
        )
        return
    n_levels = len(case.prompt.levels)
    for sample, (score, text) in enumerate(zip(scores, texts, strict=True)):
        usable = (
            isinstance(score, int | float)
            and not isinstance(score, bool)
            and score in range(1, n_levels + 1)
        )
        status, rating, reason = (
            ("ok", float(score), None)
            if usable
            else ("unparsed", None, f"the score is {str(score)[:100]}")
        )
        subject = (key, f"{case.model}/long/0", settings.judge, _CRITERION, sample)
        yield (*subject, status, rating, 1.0, float(n_levels), _text(text), reason, *case.place)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


SOURCE = Source(
    "judge_retest",
    JudgeRetestSettings,
    VERSION,
    source_files,
    lambda settings, _: read_judge_retest(settings),
)
