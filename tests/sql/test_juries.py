"""What juries combine, as given and expected rows: jury_votes, labelled_votes, wanted_votes."""

import hashlib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import keep_wanted
from judgelake.tasks.types import Identity, Seat, Wants
from judgelake.tasks.warehouse.warehouse import select_file, select_frame
from tests.lakes import (
    Row,
    answer,
    append_records,
    case_row,
    digest_of,
    duel_row,
    ingest,
    item,
    make_lake,
    rating,
    verdict_row,
    warehouse,
)

A, B = "a" * 16, "b" * 16
CAT, DOG = item("i0"), item("i1", "Which animal?", ("dog",))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two items, the first with two answers of which one was rated by two people."""
    lake = make_lake(tmp_path)
    answers = [answer("i0", "a cat"), answer("i0", "a dog", "m2"), answer("i1", "a dog")]
    ratings = [rating("i0", 1.0), rating("i0", 0.5, "p2"), rating("i0", 0.0, criterion="style")]
    ingest(lake, [CAT, DOG], answers, ratings)
    return lake


def add(lake: Lake, judge_id: str, digest: str, value: int | None, **more: Any) -> None:
    append_records(lake, "cases", [case_row(judge_id, "i0", digest, **more)])
    append_records(lake, "verdicts", [verdict_row(judge_id, "i0", digest, value, **more)])


def keep(lake: Lake, *criteria: tuple[str, str, str], **more: Any) -> duckdb.DuckDBPyConnection:
    """The cases of a jury of A and B; `criteria` are the jury's, A's and B's each."""
    named = criteria or (("correctness",) * 3,)
    wants = Wants(
        ("vqa",),
        criteria=tuple((name,) for name, *_ in named),
        seats=tuple(
            Seat(name, judge_id, "r1", tuple(group[place] for group in named))
            for place, (name, judge_id) in enumerate((("one", A), ("two", B)), 1)
        ),
        **{"quorum": 1, **more},
    )
    connection = warehouse(lake)
    identity = Identity("judge", "jury", "c" * 16, "r1", "call", "read", ("b",), wants)
    keep_wanted(connection, identity, "s", ["b"], None)
    return connection


def list_votes(connection: duckdb.DuckDBPyConnection) -> list[Row]:
    text = "select criterion, votes from wanted_cases order by all"
    return [
        {"criterion": row["criterion"]}
        | {vote["judge"]: vote["scores"] or vote["status"] for vote in row["votes"]}
        for row in select_frame(connection, text, "test").iter_rows(named=True)
    ]


def test_votes_of_samples_and_of_criteria_by_other_names(lake: Lake) -> None:
    cat = digest_of(CAT, "a cat")
    for sample, value in enumerate((3, None, 1)):
        add(lake, A, cat, value, sample=sample)
    add(lake, B, cat, 2, criterion="overall")
    add(lake, B, cat, 1, criterion="style")
    found = list_votes(keep(lake, ("overall", "correctness", "overall")))
    assert found == [{"criterion": "overall", "one": [1.0, 0.0], "two": [0.5]}]
    assert list_votes(keep(lake)) == [
        {"criterion": "correctness", "one": [1.0, 0.0], "two": "not asked"}
    ]
    assert list_votes(keep(lake, quorum=2)) == []


def test_each_rubric_of_an_item_is_a_criterion_where_members_share_them(lake: Lake) -> None:
    cat = digest_of(CAT, "a cat")
    for judge_id in (A, B):
        for value, rubric in ((1, "rubric:x"), (3, "rubric:y")):
            add(lake, judge_id, cat, value, criterion=rubric)
    found = list_votes(keep(lake, ("rubric", "rubric", "rubric")))
    assert found == [
        {"criterion": "rubric:x", "one": [0.0], "two": [0.0]},
        {"criterion": "rubric:y", "one": [1.0], "two": [1.0]},
    ]
    assert list_votes(keep(lake, ("overall", "rubric", "rubric"))) == []


def test_the_context_is_a_digest_of_the_votes(lake: Lake) -> None:
    cat = digest_of(CAT, "a cat")
    contexts: list[str] = []
    for value in (None, 2, None, 3):  # that one is ok outlasts a later attempt that is not
        add(lake, A, cat, value, minute=3 + len(contexts))
        frame = select_frame(keep(lake), "select context_digest from wanted_cases", "test")
        contexts.append(frame.item())
    assert [len({*contexts[:n]}) for n in (1, 2, 3, 4)] == [1, 2, 2, 3]


def test_labels_of_the_criterion_or_of_all(lake: Lake) -> None:
    cat = digest_of(CAT, "a cat")
    add(lake, A, cat, 3)
    add(lake, B, digest_of(CAT, "a dog"), 3)  # nobody rated it
    columns = ["item_id", "criterion", "scores", "label"]
    found = select_file(keep(lake), "queries/labelled_votes.sql").select(columns).rows()
    assert found == [("i0", "correctness", [1.0, None], 0.75)]
    overall = keep(lake, ("overall", "correctness", "correctness"))
    found = select_file(overall, "queries/labelled_votes.sql").select(columns).rows()
    assert found == [("i0", "overall", [1.0, None], 0.375)]  # of .75 and 0


def test_a_pair_with_the_reference_is_a_case_and_one_with_a_lost_answer_is_none(lake: Lake) -> None:
    cat = digest_of(CAT, "a cat")
    reference = hashlib.sha256(b"reference:cat").hexdigest()[:16]
    for other in (reference, "f" * 16):
        more = {"other_digest": other, "shown_first": "b"}
        append_records(lake, "cases", [case_row(A, "i0", cat, **more)])
        append_records(lake, "duels", [duel_row(A, "i0", cat, other, "b", "tie")])
    connection = keep(lake, unit="pair")
    text = "select other_answer, other_digest, votes[1].scores from wanted_cases"
    assert select_frame(connection, text, "test").rows() == [("cat", reference, [0.5])]
