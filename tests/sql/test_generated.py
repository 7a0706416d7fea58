"""Answers that answerers generated, as given and expected rows: wanted_items, answered_counts,
stg_answers, stg_generated_answers, answer_origins.
"""

import hashlib
from pathlib import Path

import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import keep_wanted
from judgelake.tasks.types import Identity, Wants
from judgelake.tasks.warehouse.warehouse import select_file, select_frame
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    case_row,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    query,
    reply_row,
    warehouse,
)

A, B = "a" * 16, "b" * 16
CAT, DOG = item("i0", "What is it?", ("cat",)), item("i1", 'Is it "so"?\n', ("yes", "no", "yes"))
WANTS = Wants(("vqa",), unit="item", criteria=(("answer",),))


def prompt_digest(of: Row) -> str:
    return hashlib.sha256(of["prompt"].encode()).hexdigest()[:16]


def generated(judge_id: str, of: Row, text: str | None, minute: float = 3, **more: object) -> Row:
    """A row of `generated_answers`: `ok` with a text, else `truncated`."""
    row = case_row(judge_id, of["item_id"], prompt_digest(of), criterion="answer")
    for name in ("other_digest", "shown_first", "planned_at"):
        del row[name]
    row |= {"reading": "r1", "model": "vlm", "style": "short", "text": text, "reason": None}
    row |= {"status": "truncated" if text is None else "ok", "reply_digests": []}
    return {**row, "judged_at": at(minute), **more}


def answerer(alias: str, judge_id: str, **more: object) -> Row:
    signature = "protocol:answer|version:1|model:m|prompt:short-0123|temperature:0.0|backend:openai"
    return judge_row(alias, judge_id, kind="answerer", call_signature=signature, **more)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = make_lake(tmp_path)
    ingest(lake, [CAT, DOG], [answer("i0", "a cat")])
    return lake


def answers_of(lake: Lake) -> list[tuple[str, str | None, str]]:
    rows = query(lake, "select item_id, model, text from answers order by all")
    return [(row["item_id"], row["model"], row["text"]) for row in rows]


def test_a_case_for_each_item_and_sample(lake: Lake) -> None:
    wants = Wants(("vqa",), unit="item", criteria=(("answer",),), samples=2)
    connection = warehouse(lake)
    identity = Identity("answerer", "j", A, "r1", "call", "read", ("b",), wants)
    keep_wanted(connection, identity, "s", ["b"], None)
    text = (
        "select item_id, sample, content_digest, criterion, answer from wanted_cases order by all"
    )
    assert select_frame(connection, text, "test").rows() == [
        (of["item_id"], sample, prompt_digest(of), "answer", "")
        for of in (CAT, DOG)
        for sample in range(2)
    ]


def test_generated_answers_of_current_answerers_are_answers(lake: Lake) -> None:
    append_records(lake, "generated_answers", [generated(A, CAT, "it"), generated(B, DOG, "no")])
    assert answers_of(lake) == [("i0", "m1", "a cat")]
    append_records(lake, "judges", [answerer("one", A), judge_row("two", B)])
    assert answers_of(lake) == [("i0", "m1", "a cat"), ("i0", "vlm", "it")]
    # the suite ran again with another answerer; that of another suite stays
    append_records(lake, "judges", [answerer("one", B, registered_at=at(2))])
    assert answers_of(lake) == [("i0", "m1", "a cat"), ("i1", "vlm", "no")]
    append_records(lake, "judges", [answerer("one", A, suite="t")])
    assert len(answers_of(lake)) == 3


def test_their_digest_is_that_of_ingested_answers(lake: Lake) -> None:
    texts = {"i0": 'a "cat",\nor two\\three / é 猫 𝄞', "i1": "no\ttab"}
    rows = [generated(A, of, texts[of["item_id"]]) for of in (CAT, DOG)]
    append_records(lake, "generated_answers", rows)
    append_records(lake, "judges", [answerer("one", A)])
    found = query(
        lake,
        "select item_id, answer_id, content_digest, n_repeats, locator from answers "
        "where source_file = 'judgelake answer' order by item_id",
    )
    assert found == [
        {
            "item_id": of["item_id"],
            "answer_id": f"{A}/0",
            "content_digest": digest_of(of, texts[of["item_id"]]),
            "n_repeats": 1,
            "locator": "run",
        }
        for of in (CAT, DOG)
    ]


def test_only_answers_that_are_there_on_its_benchmarks_to_the_present_prompt(lake: Lake) -> None:
    other = {**CAT, "prompt": "What was it?"}
    append_records(lake, "judges", [answerer("one", A)])
    append_records(
        lake,
        "generated_answers",
        [
            generated(A, DOG, None),
            generated(A, other, "to the former prompt"),
            generated(A, CAT, "elsewhere", benchmark="c"),
            generated(A, CAT, "otherwise read", reading="r2"),
            generated(A, item("i9"), "to no item"),
        ],
    )
    assert answers_of(lake) == [("i0", "m1", "a cat")]
    ingest(lake, [other], [], minute=5)
    assert answers_of(lake) == [("i0", "vlm", "to the former prompt")]


def test_of_several_attempts_one_counts(lake: Lake) -> None:
    append_records(lake, "judges", [answerer("one", A)])
    append_records(
        lake,
        "generated_answers",
        [
            generated(A, CAT, "first", 3),
            generated(A, CAT, None, 4),  # a later failure does not undo an answer
            generated(A, CAT, "second draw", 3, sample=1),
            generated(A, DOG, "to one image", 3, context_digest="x"),
            generated(A, DOG, "to another image", 4, context_digest="y"),
        ],
    )
    found = [row for row in answers_of(lake) if row[1] == "vlm"]
    assert found == [
        ("i0", "vlm", "first"),
        ("i0", "vlm", "second draw"),
        ("i1", "vlm", "to another image"),
    ]
    statuses = query(lake, "select status, count(*)::int as n from generated_answers group by all")
    assert {row["status"]: row["n"] for row in statuses} == {"ok": 4}


def test_answered_counts(lake: Lake) -> None:
    cases = [
        case_row(A, of["item_id"], prompt_digest(of), criterion="answer", sample=sample)
        for of in (CAT, DOG)
        for sample in range(2)
    ]
    former = case_row(A, "i0", "0" * 16, criterion="answer")
    append_records(lake, "cases", [*cases, former])
    cut = generated(A, DOG, None, reason="cut off")
    append_records(lake, "generated_answers", [generated(A, CAT, "it"), cut])
    given = {"judge_id": A, "reading": "r1", "benchmarks": ["b"]}
    counts = select_file(warehouse(lake), "queries/answered_counts.sql", given).rows()
    assert counts == [("ok", 1, None), ("not_asked", 2, None), ("truncated", 1, "cut off")]
    none = select_file(warehouse(lake), "queries/answered_counts.sql", given | {"benchmarks": []})
    assert none.rows() == []


def test_answer_origins(lake: Lake) -> None:
    append_records(lake, "judges", [answerer("one", A)])
    asked = ["1" * 64]
    append_records(
        lake,
        "generated_answers",
        [
            generated(A, CAT, "it", reply_digests=asked),
            generated(A, CAT, "that", sample=1, reply_digests=asked),
            generated(A, DOG, None, reason="cut off"),
            generated(B, DOG, "of nobody"),
        ],
    )
    append_records(
        lake,
        "replies",
        [reply_row(A, "1" * 64, cost_usd=0.5), reply_row(A, "1" * 64, draw=1, cost_usd=0.25)],
    )
    columns = "item_id, sample, answerer, backend, prompt_digest, resolved_model, cost_usd, status"
    rows = query(lake, f"select {columns} from answer_origins order by all")
    assert [tuple(row.values()) for row in rows] == [
        ("i0", 0, "one", "openai", "short-0123", "gpt-1", 0.5, "ok"),
        ("i0", 1, "one", "openai", "short-0123", "gpt-1", 0.25, "ok"),
        ("i1", 0, "one", "openai", "short-0123", None, None, "truncated"),
    ]
