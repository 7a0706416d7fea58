"""Examples from a lake: the request that a judge would send, and the reply that its teacher's
verdict makes of it. SQL selects, nothing is run.

The reply is the teacher's feedback, the paper's fixed phrase (appendix E.1) and the marker that the
judge's prompt asks for; of a judge that is held to its score, the score alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import duckdb
import polars as pl

from judgelake.tasks.digests import digest_json
from judgelake.tasks.engine.shard import make_starter
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.judging.cases import make_case
from judgelake.tasks.judging.lave import LEVELS as LAVE_LEVELS
from judgelake.tasks.judging.prometheus import VERSION
from judgelake.tasks.judging.reading import read_result_marker
from judgelake.tasks.judging.rubrics import N_LEVELS
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import keep_wanted
from judgelake.tasks.suite.suite import Suite, suite_of_collection
from judgelake.tasks.suite.training import (
    COLLECTION,
    PEOPLE,
    TrainingSettings,
    gives_score_alone,
)
from judgelake.tasks.types import Request
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file, select_frame

LEVELS = range(1, N_LEVELS + 1)
_N_LEVELS = {"prometheus": N_LEVELS, "lave": len(LAVE_LEVELS)}
_OPENING = "Feedback:"


class Example(NamedTuple):
    """What is asked, and the reply to be learnt."""

    request: Request
    target: str
    rating: int
    benchmark: str
    item_id: str
    is_held_out: bool


class Selection(NamedTuple):
    """The examples of a lake in a fixed order, how many rows were left out for which reason, and a
    digest of all that is learnt from.
    """

    examples: tuple[Example, ...]
    left_out: Mapping[str, int]
    digest: str


def select_examples(lake: Lake, suite: Suite, settings: TrainingSettings) -> Selection:
    """All that the teacher's verdicts in the lake give, or the suite's collection, each once;
    raises SuiteError where there is no teacher or nothing is left.
    """
    rows = _select_rows(lake, suite, settings)
    left_out: Counter[str] = Counter(
        row["left_out"] for row in rows.iter_rows(named=True) if row["left_out"]
    )
    by_digest: dict[str, Example] = {}
    for made in _make_examples(rows.filter(pl.col("left_out").is_null()), suite, settings):
        if isinstance(made, str):
            left_out[made] += 1
            continue
        digest = _digest(made)
        left_out["it is another example's duplicate"] += digest in by_digest
        by_digest.setdefault(digest, made)
    examples = tuple(by_digest.values())
    if all(example.is_held_out for example in examples):
        left_out_text = "; ".join(
            f"{count:,} left out: {reason}" for reason, count in (+left_out).items()
        )
        raise SuiteError(
            f"training: no example to learn from, {len(examples):,} held "
            f"out{f', {left_out_text}' if left_out_text else ''}; expected verdicts of "
            f"{settings.teacher!r} with feedback on the suite's items; ingest or judge first, "
            f"or lower `held_out`"
        )
    held_out = [example.is_held_out for example in examples]
    return Selection(
        examples, dict(sorted((+left_out).items())), digest_json([VERSION, [*by_digest], held_out])
    )


def write_target(feedback: str, rating: int) -> str | None:
    """The reply that is learnt, without the markers that the teacher's may end in; None where there
    is no feedback.
    """
    text = feedback.strip()
    while (read := read_result_marker(text, LEVELS)) and not text[read.offset + 1 :].strip(
        " .*)]\n"
    ):
        text = read.rationale
    text = text.removeprefix(_OPENING).strip()
    return f"{text} So the overall score is {rating}.\n[RESULT] {rating}" if text else None


def _select_rows(lake: Lake, suite: Suite, settings: TrainingSettings) -> pl.DataFrame:
    if settings.teacher == COLLECTION:
        return _select_collected(lake, suite, settings)
    connection, student = open_warehouse(lake, lazy=True), suite.judges[settings.student]
    teacher = (
        {"judge_id": PEOPLE, "reading": ""}
        if settings.teacher == PEOPLE
        else _find_teacher(connection, lake, settings.teacher, gives_score_alone(student))
    )
    benchmarks = [*(settings.benchmarks or suite.benchmarks)]
    keep_wanted(
        connection,
        student.identify(tuple(benchmarks)),
        suite.name,
        benchmarks,
        None,
    )
    drawn = {"benchmarks": benchmarks, "seed": str(settings.seed), "held_out": settings.held_out}
    drawn["n_levels"] = _N_LEVELS[student.protocol]
    return select_file(connection, "queries/training_examples.sql", drawn | teacher)


def _select_collected(lake: Lake, suite: Suite, settings: TrainingSettings) -> pl.DataFrame:
    """What the suite's own collection has in the lake (Prometheus-Vision, section 2.1)."""
    of = suite_of_collection(suite)
    if "responses" not in of.judges:
        raise SuiteError(
            f"training.teacher: {COLLECTION!r}: the suite collects no responses; expected "
            f"`benchmarks` in its block `collection`; add some"
        )
    responses = of.judges["responses"].identify(tuple(of.benchmarks))
    student = suite.judges[settings.student].identify(tuple(suite.benchmarks))
    given = {
        "judge_id": responses.judge_id,
        "reading": responses.reading,
        "built_on": responses.wants.built_on[0],
        "built_on_reading": responses.wants.built_on[1],
        "benchmarks": [*(settings.benchmarks or responses.benchmarks)],
        "is_shown": student.wants.image is True,
        "seed": str(settings.seed),
        "held_out": settings.held_out,
    }
    return select_file(open_warehouse(lake, lazy=True), "queries/collected_examples.sql", given)


def _find_teacher(
    connection: duckdb.DuckDBPyConnection, lake: Lake, name: str, any_protocol: bool
) -> dict[str, object]:
    """The teacher in the lake; raises SuiteError where no judge, or more than one, has the name."""
    text = (
        "select judge, alias, judge_id, reading, kind, signature from core_judges where "
        "kind in ('judge', 'recorded') order by judge"
    )
    known = select_frame(connection, text, "judges")
    fits = known.filter(
        (pl.col("kind") == "recorded")
        | pl.col("signature").str.starts_with("protocol:prometheus|")
        | any_protocol
    )
    named = fits.filter((pl.col("alias") == name) | (pl.col("judge") == name))
    if named.height != 1:
        what = (
            f"{named.height} judges of {lake.root} have the name"
            if named.height
            else f"{lake.root} has no such judge"
        )
        names = ", ".join(fits["judge"]) or "one, of which there is none yet"
        raise SuiteError(
            f"training.teacher: {name!r}: {what}; expected a prometheus or recorded "
            f"judge of the lake (or {PEOPLE!r}): {names}; ingest, judge or rename"
        )
    return {"judge_id": named["judge_id"].item(), "reading": named["reading"].item()}


def _make_examples(
    rows: pl.DataFrame, suite: Suite, settings: TrainingSettings
) -> Iterator[Example | str]:
    """Each row as an example, or the reason why it cannot be one."""
    judge = suite.judges[settings.student]
    start, is_alone = (
        make_starter(judge, judge.identify(tuple(suite.benchmarks))),
        gives_score_alone(judge),
    )
    for row in rows.iter_rows(named=True):
        rating = int(row["level"])
        target = str(rating) if is_alone else write_target(row["feedback"] or "", rating)
        if target is None:
            yield "the teacher gave no feedback"
            continue
        try:
            (request,) = next(start(make_case(row)))
        except StopIteration as end:  # the judge would ask nothing
            (verdict,) = end.value
            yield (
                "its image is not there"
                if verdict.status == "missing_image"
                else str(verdict.reason)
            )
            continue
        yield Example(request, target, rating, row["benchmark"], row["item_id"], row["is_held_out"])


def _digest(example: Example) -> str:
    """Names what is learnt: messages (images by content) and reply; how the judge's own replies are
    drawn changes nothing of it.
    """
    messages: list[Any] = [
        [
            message.role,
            message.text,
            [[image.sha256 or image.uri, image.boxes] for image in message.images],
        ]
        for message in example.request.messages
    ]
    return digest_json([messages, example.target])


def count_scores(examples: list[Example], protocol: str = "prometheus") -> dict[int, int]:
    """How many examples have each score of a protocol's scale, 0 where none has."""
    counts = Counter(example.rating for example in examples)
    return {level: counts[level] for level in range(1, _N_LEVELS[protocol] + 1)}
