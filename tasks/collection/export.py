"""What collectors made: how much of it there is, and as training rows of Prometheus-Vision's
released format, which the source `prometheus_vision` reads.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import orjson

from judgelake.tasks.errors import SourceError
from judgelake.tasks.judging.rubrics import N_LEVELS
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import LakePath, write_whole
from judgelake.tasks.types import Identity
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file

_TASK = """###Task Description:
An instruction about an image, a response to be judged, a reference answer that deserves the score \
5, and a score rubric for one criterion are given.
1. Write detailed feedback on the response by the score rubric alone, and leave all else aside.
2. After the feedback, write the score that the rubric leads to, a whole number from 1 to 5.
3. Reply in this form: Feedback: (your feedback) [RESULT] (a whole number from 1 to 5)
4. Add nothing before it and nothing after it.
"""


class CollectionExport(NamedTuple):
    """Lines for people on what there is, and how many training rows were written."""

    lines: tuple[str, ...]
    n_rows: int


def write_collection(
    lake: Lake, collectors: Mapping[str, Identity], file: LakePath
) -> CollectionExport:
    """Count what each of the collectors (`rubrics`, `instructions`, `responses`, `augmentation`)
    made, and write the responses that are whole into `file`; no file where none are collected.
    """
    connection = open_warehouse(lake, lazy=True)
    lines = [*_count(connection, collectors)]
    if "responses" not in collectors:
        return CollectionExport(tuple(lines), 0)
    records = [*list_records(connection, collectors)]
    try:
        if isinstance(file, Path):
            file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, orjson.dumps(records, option=orjson.OPT_INDENT_2))
    except OSError as error:
        raise SourceError(
            f"{file}: cannot be written ({error}); expected a place for the collection; "
            f"correct `file`"
        ) from None
    return CollectionExport((*lines, f"training rows: {len(records):,} in {file}"), len(records))


def _count(
    connection: duckdb.DuckDBPyConnection, collectors: Mapping[str, Identity]
) -> Iterator[str]:
    """A line a collector: how many generations are whole, and why the others are not."""
    for name, identity in collectors.items():
        given = {"judge_id": identity.judge_id, "reading": identity.reading}
        counts = dict(select_file(connection, "queries/collected_counts.sql", given).iter_rows())
        total = sum(counts.values())
        others = ", ".join(f"{n:,} {status}" for status, n in counts.items() if status != "kept")
        yield f"{name}: {counts.get('kept', 0):,} of {total:,}" + (f" ({others})" if others else "")


def list_records(
    connection: duckdb.DuckDBPyConnection, collectors: Mapping[str, Identity]
) -> Iterator[dict[str, Any]]:
    """The training rows: `id`, `image` and the two turns of a conversation."""
    responses = collectors["responses"]
    given = {
        "judge_id": responses.judge_id,
        "reading": responses.reading,
        "built_on": responses.wants.built_on[0],
        "built_on_reading": responses.wants.built_on[1],
    }
    rows = select_file(connection, "queries/collected_rows.sql", given)
    for number, row in enumerate(rows.iter_rows(named=True)):
        yield {
            "id": number,
            "image": row["image_uri"],
            "conversations": [
                {"from": "human", "value": f"<image>\n{write_prompt(row)}"},
                {"from": "gpt", "value": write_reply(row["feedback"], row["score"])},
            ],
        }


def write_prompt(row: Mapping[str, Any]) -> str:
    """The prompt of a training row: the fields and markers of appendix J.2, in our own words."""
    levels = "\n".join(
        f"Score {score}: {row['levels'][score - 1]}" for score in range(1, N_LEVELS + 1)
    )
    return (
        f"{_TASK}\n###The instruction to evaluate:\n{row['instruction']}\n\n"
        f"###Response to evaluate:\n{row['response']}\n\n"
        f"###Reference Answer (Score 5):\n{row['reference']}\n\n"
        f"###Score Rubrics:\n[{row['description']}]\n{levels}\n\n###Feedback:\n"
    )


def write_reply(feedback: str, score: int) -> str:
    """The feedback, which ends in the fixed phrase, and the marked score."""
    return f"{feedback.strip()} [RESULT] {score}"
