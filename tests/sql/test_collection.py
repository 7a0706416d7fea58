"""What a collection plans, keeps and writes, as given and expected rows.

One collector has made rubrics of two images: of the first R1, R2 that is too like it, and one that
was rejected; of the second the same R1, not compared yet. Another made two instructions for R1, of
which one cannot be read, a third one two responses to the one that can.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

from judgelake.tasks.digests import digest_json
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.warehouse.warehouse import keep_result, select_file
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    ingest,
    item,
    judge_row,
    make_lake,
    query,
    warehouse,
)

RUBRICS = {"judge_id": "rubrics", "reading": "r"}
INSTRUCTIONS = {"judge_id": "instructions", "reading": "r"}
RESPONSES = {"judge_id": "responses", "reading": "r"}
NOW = "0" * 16
LEVELS = ["never", "hardly", "half", "nearly", "wholly"]


def made(of: Mapping[str, str], context: str, criterion: str, status: str, **more: object) -> Row:
    """A row of what one collector generated about the image `context`."""
    row: Row = {
        **of,
        "benchmark": "b",
        "item_id": f"item of {context}",
        "content_digest": "",
        "context_digest": context,
        "criterion": criterion,
        "sample": 0,
        "image_uri": f"{context}.png",
        "status": status,
        "reason": None if status == "ok" else f"it is {status}",
        "reply_digests": [],
        "run_id": "run",
        "judged_at": at(1),
    }
    return {**row, **more}


def rubric(name: str) -> Row:
    text = {"rubric_id": name, "description": f"Does it {name}?", "levels": LEVELS}
    return {**text, "kind": "general", "keywords": [name], "n_refined": 0}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = make_lake(tmp_path_factory.mktemp("collection"))
    append_records(
        lake,
        "collected_rubrics",
        [
            made(RUBRICS, "c1", "rubric-1", "ok", **rubric("R1")),
            made(RUBRICS, "c1", "rubric-2", "ok", **rubric("R2")),
            made(RUBRICS, "c1", "rubric-3", "rejected"),
            made(RUBRICS, "c2", "rubric-1", "ok", **rubric("R1")),
        ],
    )
    screened = [
        {**RUBRICS, "benchmark": "b", "context_digest": "c1", "criterion": f"rubric-{n}",
         "rubric_id": f"R{n}", "is_kept": n == 1, "nearest_id": None, "rouge_l": 0.2 + 0.6 * (n - 1),
         "run_id": "run", "screened_at": at(1)}
        for n in (1, 2)
    ]  # fmt: skip
    append_records(lake, "screened_rubrics", screened)
    asked = {"rubric_id": "R1", "content_digest": "R1"}
    texts = {"instruction_id": "I1", "instruction": "Describe it.", "reference": "A red box."}
    append_records(
        lake,
        "collected_instructions",
        [
            made(INSTRUCTIONS, "c1", "instruction-1", "ok", **asked, **texts),
            made(INSTRUCTIONS, "c1", "instruction-2", "unparsed", **asked),
        ],
    )
    about = {"rubric_id": "R1", "instruction_id": "I1", "content_digest": "I1"}
    said = {"response": "A box.", "feedback": "No colour.", "n_words": 2, "n_reference_words": 3}
    append_records(
        lake,
        "collected_responses",
        [
            made(RESPONSES, "c1", "response-3", "ok", **about, **said, score=3),
            made(RESPONSES, "c1", "response-4", "rejected", **about, score=4),
        ],
    )
    return lake


@pytest.fixture
def planned(lake: Lake) -> duckdb.DuckDBPyConnection:
    """A connection that has the images of both items, as planning leaves them."""
    connection = warehouse(lake)
    connection.execute(
        """
        create or replace temp table wanted_images as
        select
            'b' as benchmark, 'item of ' || context as item_id, 'caption' as task, '' as prompt,
            []::varchar[] as "references", null::varchar as caption,
            [{uri: context || '.png', sha256: context}] as images, []::varchar[] as regions,
            null::varchar as rubric_criterion, []::varchar[] as rubric_levels,
            null::varchar as rubric_label, context as context_digest, '' as answer,
            '' as content_digest, null::varchar as other_answer, '' as other_digest,
            '' as shown_first, []::varchar[] as feedbacks, ['caption'] as criteria,
            'caption' as criterion, 0::bigint as sample
        from unnest(['c1', 'c2']) as contexts(context)
        """
    )
    return connection


def pick(
    connection: duckdb.DuckDBPyConnection, file: str, given: Mapping[str, object], *columns: str
) -> list[tuple[Any, ...]]:
    found = select_file(connection, f"queries/{file}.sql", given)
    return sorted(found.select(columns).rows())


def test_core_collected_has_what_all_collectors_made(lake: Lake) -> None:
    rows = query(
        lake, "select table_name, criterion, status, reason from core_collected order by all"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("collected_instructions", "instruction-1", "ok", None),
        ("collected_instructions", "instruction-2", "unparsed", "it is unparsed"),
        ("collected_responses", "response-3", "ok", None),
        ("collected_responses", "response-4", "rejected", "it is rejected"),
        ("collected_rubrics", "rubric-1", "ok", None),
        ("collected_rubrics", "rubric-1", "ok", None),
        ("collected_rubrics", "rubric-2", "ok", None),
        ("collected_rubrics", "rubric-3", "rejected", "it is rejected"),
    ]


def test_core_augmentations_are_current_and_of_items_without_a_rubric(tmp_path: Path) -> None:
    """i1 has one by a former collector, a failed one and two by the current one; i2 has a rubric of
    its own; the references of i3 are others now.
    """
    lake = make_lake(tmp_path)
    items = [item(name, "What?", ("b", "a")) for name in ("i1", "i2", "i3")]
    links = [{"benchmark": "b", "item_id": "i2", "rubric_id": "own"}]
    own = [{"benchmark": "b", "rubric_id": "own", "criterion": "Own?", "levels": LEVELS}]
    ingest(lake, items, [answer("i1", "a")], item_rubrics=links, rubrics=own)
    append_records(
        lake, "judges", [judge_row("augmentation", NOW, kind="collector", benchmarks=["b"])]
    )
    digest, old = digest_json(["What?", ["a", "b"]])[:16], digest_json(["What?", ["c"]])[:16]

    def row(of: str, item_id: str, name: str, minute: int, content: str, status: str) -> Row:
        is_ok = status == "ok"
        texts = {"description": f"{name}?", "levels": LEVELS} if is_ok else {}
        key = {"judge_id": of, "reading": judge_row("augmentation", NOW)["reading"]}
        names = {"item_id": item_id, "content_digest": content, "judged_at": at(minute)}
        return made(key, "c1", "augmentation", status, **names, **texts, reference=name)

    append_records(
        lake,
        "augmented_items",
        [
            row("f" * 16, "i1", "former", 9, digest, "ok"),
            row(NOW, "i1", "first", 1, digest, "ok"),
            row(NOW, "i1", "second", 2, digest, "ok"),
            row(NOW, "i1", "failed", 3, digest, "failed"),
            row(NOW, "i2", "beside its own", 1, digest, "ok"),
            row(NOW, "i3", "of before", 1, old, "ok"),
        ],
    )
    rows = query(lake, "select item_id, judge_id, description, reference from core_augmentations")
    assert [tuple(one.values()) for one in rows] == [("i1", NOW, "second?", "second")]
    staged = query(lake, "select item_id, reference from stg_augmented_items order by all")
    assert [tuple(one.values()) for one in staged] == [
        ("i1", "former"),
        ("i1", "second"),
        ("i2", "beside its own"),
        ("i3", "of before"),
    ]


def test_core_rubric_texts_has_each_rubric_once(lake: Lake) -> None:
    rows = query(lake, "select rubric_id, description from core_rubric_texts order by all")
    assert [tuple(row.values()) for row in rows] == [("R1", "Does it R1?"), ("R2", "Does it R2?")]


@pytest.mark.parametrize(
    ("collector", "counts"),
    [
        (RUBRICS, [("kept", 2), ("near_duplicate", 1), ("rejected", 1)]),
        (INSTRUCTIONS, [("kept", 1), ("unparsed", 1)]),
        (RESPONSES, [("kept", 1), ("rejected", 1)]),
    ],
)
def test_collected_counts(
    lake: Lake, collector: Mapping[str, str], counts: list[tuple[str, int]]
) -> None:
    assert pick(warehouse(lake), "collected_counts", collector, "outcome", "n") == counts


def test_unscreened_rubrics_say_which_were_compared(lake: Lake) -> None:
    columns = ("context_digest", "criterion", "rubric_id", "is_kept")
    found = select_file(warehouse(lake), "queries/unscreened_rubrics.sql", RUBRICS)
    assert found.select(columns).rows() == [
        ("c1", "rubric-1", "R1", True),
        ("c1", "rubric-2", "R2", False),
        ("c2", "rubric-1", "R1", None),
    ]


def test_described_rubrics_are_those_that_are_kept(lake: Lake) -> None:
    columns = ("origin", "benchmark", "description", "levels")
    assert pick(warehouse(lake), "described_rubrics", RUBRICS, *columns) == [
        ("collected", "b", "Does it R1?", LEVELS)
    ]


def test_wanted_rubrics_are_one_case_an_image(planned: duckdb.DuckDBPyConnection) -> None:
    given = {"criteria": [["rubric-1", "rubric-2", "rubric-3"]]}
    columns = ("context_digest", "criterion", "criteria")
    assert pick(planned, "wanted_rubrics", given, *columns) == [
        (context, "rubric-1", ["rubric-1", "rubric-2", "rubric-3"]) for context in ("c1", "c2")
    ]


def test_wanted_instructions_are_of_the_kept_rubrics_alone(
    planned: duckdb.DuckDBPyConnection,
) -> None:
    """What this plan has compared counts beside what the lake has: here R1 of the second image."""
    planned.execute(
        "create or replace temp table newly_screened as select 'rubrics' as judge_id, "
        "'r' as reading, 'b' as benchmark, 'c2' as context_digest, 'rubric-1' as criterion, "
        "true as is_kept"
    )
    keep_result(planned, "queries/kept_rubrics.sql", "kept_rubrics", RUBRICS)
    given = {"criteria": [["instruction-1", "instruction-2"]]}
    columns = ("context_digest", "content_digest", "rubric_criterion", "rubric_levels", "criterion")
    assert pick(planned, "wanted_instructions", given, *columns) == [
        (context, "R1", "Does it R1?", LEVELS, "instruction-1") for context in ("c1", "c2")
    ]


def test_wanted_responses_are_to_instructions_that_can_be_read(
    planned: duckdb.DuckDBPyConnection,
) -> None:
    given = {
        "built_on": INSTRUCTIONS["judge_id"],
        "built_on_reading": "r",
        "criteria": [["response-1", "response-2"]],
    }
    columns = ("context_digest", "content_digest", "prompt", "references", "rubric_criterion")
    assert pick(planned, "wanted_responses", given, *columns) == [
        ("c1", "I1", "Describe it.", ["A red box."], "Does it R1?")
    ]


def test_collected_rows_are_what_is_written(lake: Lake) -> None:
    given = {**RESPONSES, "built_on": INSTRUCTIONS["judge_id"], "built_on_reading": "r"}
    (row,) = select_file(warehouse(lake), "queries/collected_rows.sql", given).to_dicts()
    assert row == {
        "image_uri": "c1.png",
        "rubric_id": "R1",
        "instruction_id": "I1",
        "score": 3,
        "instruction": "Describe it.",
        "response": "A box.",
        "reference": "A red box.",
        "description": "Does it R1?",
        "levels": LEVELS,
        "feedback": "No colour.",
    }


def test_core_collected_responses_has_both_texts_and_the_rubric(lake: Lake) -> None:
    columns = "response, status, instruction, reference, description, instructed_by"
    rows = query(lake, f"select {columns} from core_collected_responses order by all")
    text = ("Describe it.", "A red box.", "Does it R1?", "instructions")
    assert [tuple(row.values()) for row in rows] == [
        ("A box.", "ok", *text),
        (None, "rejected", *text),
    ]
