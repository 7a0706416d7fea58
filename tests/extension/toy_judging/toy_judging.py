"""A package outside judgelake that adds a protocol, a source, a metric and a backend."""

from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pyarrow as pa

from judgelake.tasks.backends.endpoint import BackendKind, EndpointSettings
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply
from judgelake.tasks.metrics.metric import MetricKind, NoOptions, Scores, for_short_answers
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.types import (
    JUDGE,
    Case,
    Failure,
    Judge,
    Message,
    Models,
    Reply,
    Request,
    Verdict,
    Wants,
)


@frozen_settings
class CountOptions:
    """`most`: the longest answer, in words, that is still good."""

    most: int = 3


def list_wants(_options: CountOptions) -> Wants:
    """Every answer to a question, once."""
    return Wants(("vqa",), criteria=(("brevity",),))


def call_signature(_options: CountOptions, models: Models) -> dict[str, object]:
    """What changes what is asked."""
    return {"protocol": "toy_count", "version": 1, "model": models[JUDGE]}


def reading_signature(options: CountOptions) -> dict[str, object]:
    """How replies are read."""
    return {"reader": "words", "most": options.most}


def judge(case: Case, options: CountOptions, models: Models) -> Judge:
    """Ask for the answer back and count its words."""
    (reply,) = yield [Request(models[JUDGE], (Message("user", case.answer),), draw=case.sample)]
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return [replied]
    words = len(replied.text.split())
    good = float(words <= options.most)
    return [Verdict("ok", rating=good, score_0_1=good, rationale=replied.text)]


PROTOCOL = Protocol("toy_count", CountOptions, list_wants, call_signature, reading_signature, judge)


@frozen_settings
class LinesSettings:
    """`file`: lines of model, question, right answer and answer, parted by tabs."""

    file: SuitePath


def read_lines(settings: LinesSettings) -> SourceFrames:
    """One item a question, one answer a line."""
    items: dict[str, tuple[object, ...]] = {}
    answers: list[tuple[object, ...]] = []
    lines = settings.file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        model, question, right, answer = line.split("\t")
        place = (str(settings.file), f"line {number}")
        items[question] = (
            question, "vqa", question, [right], [], [], None, None, question, *place,
        )  # fmt: skip
        answers.append((question, f"{model}/short/0", model, "short", 0, answer, *place))
    return SourceFrames(
        items=pl.DataFrame(list(items.values()), schema=frame_schema("items"), orient="row"),
        answers=pl.DataFrame(answers, schema=frame_schema("answers"), orient="row"),
    )


def list_files(settings: LinesSettings) -> list[Path]:
    """All that the source reads."""
    return [settings.file]


SOURCE = Source("toy_lines", LinesSettings, 1, list_files, lambda settings, _: read_lines(settings))


def _same_start(answers: pa.Array, references: pa.ListArray) -> Scores:
    """1 where an answer begins as some reference does."""
    pairs = zip(answers.to_pylist(), references.to_pylist(), strict=True)
    return np.array([float(any(a[:1] == r[:1] for r in rs)) for a, rs in pairs])


_SCORED = for_short_answers("toy_same_start|version:1", _same_start)
METRIC_KIND = MetricKind("toy_same_start", NoOptions, _SCORED.build)


@frozen_settings
class EchoSettings(EndpointSettings):
    """Repeats what it is asked."""

    backend: ClassVar[str] = "toy_echo"


class EchoBackend:
    """Answers at once."""

    window = 64

    async def reply(self, request: Request) -> Reply | Failure:
        """The text of the last message."""
        return Reply(request.messages[-1].text, resolved_model=request.model)

    async def close(self) -> None:
        """Nothing is held."""


BACKEND = BackendKind("toy_echo", EchoSettings, lambda _settings, _order: EchoBackend())
