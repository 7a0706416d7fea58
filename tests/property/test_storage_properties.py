"""Properties of the lake, of validation and of digests: nothing is lost, nothing is reported twice,
order does not matter.
"""

import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelake.tasks.digests import content_digest
from judgelake.tasks.lake.lake import append_rows, open_lake
from judgelake.tasks.lake.validation import collapse_repeats, validate_rows
from tests.rows import Row, make_frame

WORDS = st.text(max_size=12)
ANSWERS = st.lists(
    st.fixed_dictionaries(
        {
            "item_id": st.sampled_from("abc"),
            "text": st.sampled_from(["yes", "no"]),
            "sample": st.integers(0, 1),
        }
    ),
    max_size=12,
)
RATINGS = st.lists(
    st.fixed_dictionaries(
        {
            "rating": st.none() | st.floats(width=32),
            "scale_low": st.sampled_from([0.0, 1.0]),
            "scale_high": st.sampled_from([1.0, 5.0]),
        }
    ),
    max_size=12,
)


@given(WORDS, st.lists(WORDS, max_size=6), WORDS, st.randoms())
def test_digest_counts_references_but_not_their_order(
    prompt: str, references: list[str], answer: str, random: object
) -> None:
    shuffled = sorted(references, key=lambda _: getattr(random, "random", float)())
    digest = content_digest(prompt, references, answer)
    assert content_digest(prompt, shuffled, answer) == digest
    for reference in references:
        assert content_digest(prompt, [*references, reference], answer) != digest


@given(
    st.tuples(WORDS, st.lists(WORDS, max_size=4), WORDS),
    st.tuples(WORDS, st.lists(WORDS, max_size=4), WORDS),
)
def test_digests_are_equal_only_where_the_content_is(
    one: tuple[str, list[str], str], other: tuple[str, list[str], str]
) -> None:
    same = (one[0], sorted(one[1]), one[2]) == (other[0], sorted(other[1]), other[2])
    assert (content_digest(*one) == content_digest(*other)) is same


@given(ANSWERS)
def test_collapsed_rows_are_those_a_dictionary_finds(changes: list[Row]) -> None:
    changes = [{**change, "locator": str(number)} for number, change in enumerate(changes)]
    groups = defaultdict(list)
    for change in changes:
        groups[change["item_id"]].append(change)
    agreeing = {
        key: rows
        for key, rows in groups.items()
        if len({(row["text"], row["sample"]) for row in rows}) == 1
    }
    unique, conflicting = collapse_repeats("answers", make_frame("answers", *changes))
    found = unique.select("item_id", "text", "locator", "n_repeats").rows()
    assert found == [
        (key, rows[0]["text"], rows[0]["locator"], len(rows)) for key, rows in agreeing.items()
    ]
    assert conflicting["locator"].to_list() == [
        row["locator"] for row in changes if row["item_id"] not in agreeing
    ]


@given(RATINGS)
def test_rows_pass_exactly_where_the_rating_is_within_its_scale(changes: list[Row]) -> None:
    frame = make_frame(
        "human_ratings",
        *({**change, "locator": str(number)} for number, change in enumerate(changes)),
    )
    good, bad = validate_rows("human_ratings", frame)
    passing = [
        row["locator"]
        for row in frame.to_dicts()
        if is_within(row["rating"], row["scale_low"], row["scale_high"])
    ]
    assert good["locator"].to_list() == passing
    assert set(bad["locator"]) == set(frame["locator"]) - set(passing)
    assert set(bad["column_name"]) <= {"rating"}


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from("xy"), WORDS, st.lists(WORDS, max_size=3)), max_size=8))
def test_lake_gives_back_what_was_written(rows: Sequence[tuple[str, str, list[str]]]) -> None:
    changes = [
        {"benchmark": benchmark, "item_id": str(number), "prompt": prompt, "references": references}
        for number, (benchmark, prompt, references) in enumerate(rows)
    ]
    frame = make_frame("items", *changes)
    with tempfile.TemporaryDirectory() as folder:
        lake = open_lake(Path(folder) / "lake", create=True)
        parts = append_rows(lake, "items", frame)
        read = [
            pl.DataFrame(pq.read_table(part, partitioning=None)).with_columns(
                benchmark=pl.lit(part.parent.name[10:])
            )
            for part in parts
        ]
        assert [part.stem for part in parts] == [
            hashlib.sha256(part.read_bytes()).hexdigest() for part in parts
        ]
    found = pl.concat([frame.clear(), *(part.select(frame.columns) for part in read)])
    assert found.sort("item_id").equals(frame.sort("item_id"))


def is_within(rating: float | None, low: float, high: float) -> bool:
    """A scale whose ends are the same is none."""
    return rating is not None and low < high and low <= rating <= high
