"""The checks: each finds the rows that were planted for it, and none finds anything in a lake that
is as it should be.
"""

import re
from collections.abc import Callable, Iterator

import duckdb
import numpy as np
import polars as pl
import pytest

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import content_digest
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.warehouse.catalog import describe_check
from judgelake.tasks.warehouse.checks import Finding, run_checks
from judgelake.tasks.warehouse.views import check_texts
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.lakes import (
    Row,
    answer,
    append_records,
    case_row,
    digest_of,
    duel_row,
    ingest,
    item,
    judge_row,
    make_lake,
    preference,
    rating,
    reply_row,
    score_row,
    verdict_row,
)

Find = Callable[[], dict[str, Finding]]
A, B, M = "a" * 16, "b" * 16, "c" * 16
CAT, DOG = item("i0", image="0.png"), item("i1", "Which animal?", ("dog", "puppy"))
SAID, SWAPPED = digest_of(CAT, "a cat"), digest_of(CAT, "a dog")
ONE, TWO = "1" * 64, "2" * 64
RECORDED: Row = {
    "item_id": "i0",
    "answer_id": "m1",
    "judge": "gpt",
    "criterion": "overall",
    "sample": 0,
    "status": "ok",
}
RECORDED |= {"rating": 9.0, "scale_low": 1.0, "scale_high": 5.0, "text": None, "reason": None}
LABEL = {"item_id": "i0", "answer_id": "m1", "category": "unknown", "labeller": "p1", "holds": True}
SPICE = {"item_id": "i0", "answer_id": "m1", "metric": "spice", "score": 0.0}
SHARES = [
    {"level": str(level), "probability": share} for level, share in ((1, 0.1), (2, 0.2), (3, 0.7))
]


def plant(lake: Lake) -> None:
    """Two items, three answers, a judge of answers and one of pairs; all is as it should be."""
    answers = [answer("i0", "a cat"), answer("i0", "a dog", "m2"), answer("i1", "a dog")]
    ingest(
        lake, [CAT, DOG], answers, [rating("i0", 1.0)], human_preferences=[preference("i0", "m1", "m2", "a")],
        recorded_verdicts=[{**RECORDED, "rating": 4.0}], recorded_scores=[SPICE], failure_labels=[LABEL],
    )  # fmt: skip
    scale = "reader:rating-at-end|version:2|scale:1-3"
    append_records(
        lake, "judges", [judge_row("lave", A, reading_signature=scale), judge_row("chirp", B)]
    )
    append_records(lake, "cases", [case_row(A, "i0", SAID), case_row(A, "i0", SWAPPED)])
    append_records(lake, "cases", [case_row(B, "i0", SAID, other_digest=SWAPPED, shown_first="a")])
    append_records(lake, "replies", [reply_row(A, ONE), reply_row(A, TWO), reply_row(B, ONE)])
    shares: Row = {"reply_digests": [ONE], "probabilities": SHARES, "captured_mass": 0.97}
    append_records(lake, "verdicts", [verdict_row(A, "i0", SAID, 3, **shares)])
    append_records(lake, "verdicts", [verdict_row(A, "i0", SWAPPED, None, reply_digests=[TWO])])
    append_records(
        lake,
        "duels",
        [duel_row(B, "i0", SAID, SWAPPED, "a", "a", score_a=8.0, score_b=3.0, reply_digests=[ONE])],
    )
    append_records(
        lake, "metric_scores", [score_row(M, "i0", SAID, None), score_row(M, "i0", SWAPPED, 7.5)]
    )


@pytest.fixture(scope="module")
def planted(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Lake, duckdb.DuckDBPyConnection]]:
    """The lake as it should be and one warehouse for all tests, which is notified of planted part files
    before it is asked.
    """
    lake = make_lake(tmp_path_factory.mktemp("planted"))
    plant(lake)
    with open_warehouse(lake) as connection:
        yield lake, connection


@pytest.fixture
def lake(planted: tuple[Lake, duckdb.DuckDBPyConnection]) -> Iterator[Lake]:
    yield planted[0]
    for file in planted[0].root.rglob("planted.parquet"):
        file.unlink()


@pytest.fixture
def find(planted: tuple[Lake, duckdb.DuckDBPyConnection]) -> Find:
    """What all checks find, by view."""
    lake, connection = planted

    def find_all() -> dict[str, Finding]:
        tell_parts(lake, connection)
        return {finding.view: finding for finding in run_checks(connection)}

    return find_all


def tell_parts(lake: Lake, connection: duckdb.DuckDBPyConnection) -> None:
    """Let the views read the part files that are there now."""
    for table in TABLES:
        files = [str(file) for file in (lake.mirror / table).rglob("*.parquet")]
        connection.execute(
            f"set variable parts_{table} = $files", {"files": files}
        )  # names come from TABLES


def put_unchecked(lake: Lake, table: str, *rows: Row) -> None:
    """Rows as a damaged lake or another program may hold them: the contract is not asked."""
    contract = TABLES[table]
    frame = pl.DataFrame(list(rows), schema=contract.polars_schema)
    names = {name: frame[name][0] for name in contract.partitions}
    folder = (lake.mirror / table).joinpath(*(f"{name}={value}" for name, value in names.items()))
    frame.drop(contract.partitions).write_parquet(folder / "planted.parquet")


def ingested(row: Row) -> Row:
    return {**row, "benchmark": "b", "ingest_id": "b-0", "source_file": "given", "locator": "row"}


def add_verdicts(*rows: Row) -> Callable[[Lake], None]:
    return lambda lake: put_unchecked(lake, "verdicts", *rows)


def add_duel(choice: str | None, **more: object) -> Callable[[Lake], None]:
    row = duel_row(B, "i0", SAID, SWAPPED, "a", choice, reply_digests=[ONE], **more)
    return lambda lake: put_unchecked(lake, "duels", row)


def add(table: str, row: Row) -> Callable[[Lake], None]:
    return lambda lake: put_unchecked(lake, table, row)


def verdict(value: int | None, digest: str = SAID, **more: object) -> Row:
    row = verdict_row(A, "i0", digest, value)
    return {**row, "reply_digests": [ONE], **more}


ANSWER_OF = {"content_digest": SAID, **answer("i9", "lost")}
UNEVEN, NEGATIVE = (
    [{"level": "1", "probability": 0.4}],
    [{"level": "1", "probability": 1.5}, {"level": "2", "probability": -0.5}],
)

# Check -> what is planted, by a name: the number of rows that it then finds, its own alone.
PLANTED: dict[str, dict[str, Callable[[Lake], None]]] = {
    "chk_answer_without_item": {"an answer to no item": add("answers", ingested(ANSWER_OF))},
    "chk_rating_without_answer": {
        "a rating": add("human_ratings", ingested(rating("i0", 1.0, answer_id="m9"))),
        "a preference for one side that is not there": add("human_preferences", ingested(preference("i1", "m1", "m9", "a"))),
        "a recorded verdict": add("recorded_verdicts", ingested({**RECORDED, "rating": 4.0, "item_id": "i9"})),
        "a label": add("failure_labels", ingested({**LABEL, "answer_id": "m9"})),
        "a recorded score": add("recorded_scores", ingested({**SPICE, "answer_id": "x"})),
    },
    "chk_repeated_key": {
        "an item twice": add("items", ingested(CAT)),
        "an answer twice": add("answers", ingested({**answer("i0", "a cat"), "content_digest": SAID})),
        "a rating twice": add("human_ratings", ingested(rating("i0", 0.0))),
        "a label twice": add("failure_labels", ingested({**LABEL, "holds": False})),
        "a preference twice": add("human_preferences", ingested(preference("i0", "m1", "m2", "b"))),
    },
    "chk_digest_of_other_content": {
        "the digest of a former text": add("answers", ingested({**answer("i1", "new", "m5"), "content_digest": SAID})),
    },
    "chk_rating_outside_scale": {
        "a person's": add("human_ratings", ingested(rating("i0", 1.5, "p2"))),
        "a recorded judge's": add("recorded_verdicts", ingested({**RECORDED, "sample": 1})),
        "our judge's, by its reading signature": add_verdicts(verdict(4, score_0_1=1.0)),
    },
    "chk_score_out_of_range": {
        "above 1": add_verdicts(verdict(2, SWAPPED, score_0_1=1.5)),
        "not a number": add_verdicts(verdict(2, SWAPPED, score_0_1=float("nan"))),
        "ok without a score": add_verdicts(verdict(2, SWAPPED, score_0_1=None)),
        "a score where it failed": add_verdicts(verdict(2, SWAPPED, status="refused")),
        "a duel that is ok without a choice": add_duel(None, status="ok", preference_b=0.0),
        "a duel that failed with a choice": add_duel("a", status="refused"),
        "a metric that is infinite": add("metric_scores", score_row(M, "i1", SAID, float("inf"))),
    },
    "chk_score_against_rating": {
        "one rating, two scores": add_verdicts(verdict(2, SWAPPED, score_0_1=0.4), verdict(2, SWAPPED, score_0_1=0.5, context_digest="c")),
        "a higher rating, a lower score": add_verdicts(verdict(2, SWAPPED, score_0_1=0.8), verdict(1, sample=1, score_0_1=0.9)),
    },
    "chk_choice_against_scores": {
        "the lower score wins": add_duel("a", score_a=3.0, score_b=4.0),
        "equal scores, no tie": add_duel("a", score_a=4.0, score_b=4.0),
        "a tie of unequal scores": add_duel("tie", score_a=3.0, score_b=4.0, preference_b=0.0),
        "the lesser share wins": add_duel("a", preference_b=0.8),
    },
    "chk_probabilities": {
        "they sum to less than 1": add_verdicts(verdict(3, probabilities=UNEVEN, captured_mass=0.4)),
        "below 0 and above 1": add_verdicts(verdict(3, probabilities=NEGATIVE, captured_mass=1.0)),
        "more mass than there is": add_verdicts(verdict(3, probabilities=SHARES, captured_mass=1.1)),
        "of a verdict without a score, too": add_verdicts(verdict(None, probabilities=UNEVEN, captured_mass=0.4)),
        "of a duel": add_duel("a", captured_mass=-0.1),
    },
    "chk_verdict_without_reply": {
        "a verdict": add_verdicts(verdict(3, reply_digests=["9" * 64])),
        "a reply of another judge": add("verdicts", verdict(3, reply_digests=["8" * 64])),
        "a duel": add("duels", duel_row(B, "i0", SAID, SWAPPED, "a", "a", reply_digests=[TWO, "9" * 64])),
    },
    "chk_verdict_without_case": {
        "an answer that nobody wanted judged": add_verdicts(verdict(3, "f" * 64)),
        "another context": add_verdicts(verdict(3, context_digest="c")),
        "another sample": add_verdicts(verdict(3, sample=1)),
        "the other order": add("duels", duel_row(B, "i0", SAID, SWAPPED, "b", "a", reply_digests=[ONE])),
    },
    "chk_verdicts_that_differ": {
        "two scores of one case": add_verdicts(verdict(1)),
        "two choices of one pair and order": add_duel("b"),
    },
    "chk_other_model": {
        "another model": add("replies", reply_row(B, "3", requested_model="o/gpt-3", resolved_model="llama")),
        "a family's other size": add("replies", reply_row(B, "3", requested_model="o/gpt-mini-latest", resolved_model="o/gpt-1")),
    },
    "chk_adapted_requests": {"without temperature": add("replies", reply_row(A, "3", adapted="without temperature"))},
    "chk_snapshot_changed": {"two snapshots": add("replies", reply_row(A, "3", resolved_model="gpt-2"))},
}  # fmt: skip
ROWS = {"two snapshots": 2}
# What a planted row cannot but break besides.
ALSO = {
    "above 1": {"chk_score_against_rating"},
    "not a number": {"chk_score_against_rating"},
    "one rating, two scores": {"chk_verdict_without_case"},
    "a higher rating, a lower score": {"chk_verdict_without_case"},
    "the lesser share wins": {"chk_verdicts_that_differ"},
}


def test_a_lake_as_it_should_be_passes_every_check(find: Find) -> None:
    assert find() == {}


@pytest.mark.parametrize(
    ("check", "what"), [(check, what) for check, ways in PLANTED.items() for what in ways]
)
def test_a_check_finds_what_is_wrong(lake: Lake, find: Find, check: str, what: str) -> None:
    PLANTED[check][what](lake)
    found = find()
    assert set(found) == {check} | ALSO.get(what, set())
    assert found[check].n == ROWS.get(what, 1)
    assert found[check].warns is (
        check in ("chk_snapshot_changed", "chk_other_model", "chk_adapted_requests")
    )


def test_every_check_has_something_planted_for_it() -> None:
    assert set(check_texts()) == set(PLANTED)


def test_a_check_says_what_must_hold() -> None:
    for text in check_texts().values():
        says, _ = describe_check(text)
        assert len(says) > 20


def test_replies_to_a_second_turn_may_be_missing(lake: Lake, find: Find) -> None:
    """The reason for a score is asked in a turn of its own, which may fail: the score stands."""
    add_verdicts(verdict(3, reply_digests=["9" * 64, ONE]))(lake)
    assert find() == {}


def test_the_digest_is_computed_in_sql_as_in_python() -> None:
    """Where a control character's escape has a letter the check says nothing; everywhere else SQL
    and Python name the same digest.
    """
    letters = [
        *"ab \\/\"'|%\t\n\r\x00\x08\x7f\x85\u2028\ufeff\uffffüß€😀\U0010ffff",
        *(chr(code) for code in range(32)),
    ]
    rng = np.random.default_rng(5)
    drawn = ["".join(rng.choice(letters, size)) for size in rng.integers(0, 8, 1500)] + [
        "\\u00AB",
        "\\u000A",
    ]
    contents = [
        (drawn[3 * k], drawn[3 * k + 1 : 3 * k + 3][: k % 3], drawn[-1 - k]) for k in range(500)
    ]
    unclear = [
        re.search(r"[\x0b\x0e\x0f\x1a-\x1f]|\\u00[01][A-F]", "".join([prompt, *given, text]))
        for prompt, given, text in contents
    ]
    expected = [
        None if found else content_digest(*content)
        for found, content in zip(unclear, contents, strict=True)
    ]
    assert expected.count(None) in range(1, 400)
    assert recompute(contents) == expected


def recompute(contents: list[tuple[str, list[str], str]]) -> list[str | None]:
    """What chk_digest_of_other_content expects of answers that have another digest, None where it
    finds nothing wrong.
    """
    rows = [
        (f"i{number}", prompt, given, text) for number, (prompt, given, text) in enumerate(contents)
    ]
    given = pl.DataFrame(
        rows, schema=["item_id", "prompt", "references", "text"], orient="row"
    ).to_arrow()
    with duckdb.connect() as connection:
        connection.register("given", given)
        connection.execute("create view stg_items as select 'b' as benchmark, * from given")
        names = (
            "'b' as benchmark, item_id, 'a' as answer_id, text, 'other' as content_digest, "
            "'' as source_file, '' as locator"
        )
        connection.execute(f"create view stg_answers as select {names} from given")
        found = connection.execute(check_texts()["chk_digest_of_other_content"]).fetchall()
    digests = {row[1]: row[4] for row in found}
    return [digests.get(item_id) for item_id, *_ in rows]


def test_a_check_shows_the_rows(
    lake: Lake, planted: tuple[Lake, duckdb.DuckDBPyConnection]
) -> None:
    PLANTED["chk_answer_without_item"]["an answer to no item"](lake)
    tell_parts(lake, planted[1])
    assert planted[1].execute("select * from chk_answer_without_item").fetchall() == [
        ("b", "i9", "m1", "given", "row")
    ]
